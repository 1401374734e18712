// SPDX-License-Identifier: Apache-2.0
// Places your own kernel on the roofline of a device: what limits it, how close it is to that
// limit, and what would help. Source: Williams, Waterman, Patterson, "Roofline", CACM 52 (2009).
#pragma once

#include <string>

namespace raceline {

/// The work of a program, as its author counts it, and the time that it took.
struct WorkPoint {
    double flops = 0;    ///< operations; a multiply-add counts as two
    double bytes = 0;    ///< read and written at `memory`
    double seconds = 0;  ///< measured; 0: not yet
    /// What the operations run on: a rate of the device, with or without its first word
    /// ("flop.wgmma.bf16", "wgmma.bf16", "op.ex2"), or a type ("bf16"), which means the fastest
    /// engine for that type. May be empty if there are no operations.
    std::string engine = {};
    /// Where the bytes are counted: "dram" (at the read ceiling), or a rate with or without its
    /// first word ("byte.l2", "l2", "smem_lsu", "dram_copy").
    std::string memory = "dram";
};

struct PointVerdict {
    std::string engine, memory;  ///< ids of the rates; empty where there is no such work
    double engine_rate = 0;      ///< flop/s or op/s
    double memory_rate = 0;      ///< byte/s
    double intensity = 0;        ///< flop per byte; 0 if there are no bytes
    double ridge = 0;            ///< the intensity at which compute and memory take equally long
    double compute_seconds = 0;  ///< time for the operations at the engine's rate
    double memory_seconds = 0;   ///< time for the bytes at the memory's rate
    double bound_seconds = 0;    ///< the larger of the two: no program does this work faster
    std::string limiter;         ///< the rate that gives bound_seconds
    double of_roof = 0;          ///< bound / measured time; 0 if nothing was measured
    /// By what factor the bound falls if the limiting rate rises by a tenth: 1.1, or less if the
    /// other resource then becomes the limit.
    double gain_of_tenth = 1;
    std::string rates;  ///< the source of the limiting rate, as `raceline predict` prints it
};

/// `device` as in predict_shape. Throws Error(invalid_argument) for a count or time that is
/// negative, not a number, or not 0 and outside 1e-30 to 1e30, and for operations without an
/// engine. So it does for an engine or memory for which the device has no rate, and names the
/// nearest one.
PointVerdict judge_point(const WorkPoint& point, const std::string& device = {});

}  // namespace raceline
