// SPDX-License-Identifier: Apache-2.0
// A kernel of one's own on the roofline of a device: what limits it, how far it is from that, and
// what would help. Source: Williams, Waterman, Patterson, "Roofline", CACM 52 (2009).
#pragma once

#include <string>

namespace raceline {

/// What a program does, as its author counts it, and how long it took.
struct WorkPoint {
    double flops = 0;    ///< operations; a multiply-add counts as two
    double bytes = 0;    ///< read and written at `memory`
    double seconds = 0;  ///< measured; 0: not yet
    /// What the operations run on: a rate of the device with or without its first word
    /// ("flop.wgmma.bf16", "wgmma.bf16", "op.ex2"), or a type alone ("bf16"): its fastest engine.
    /// May be empty where there are no operations.
    std::string engine = {};
    /// Where the bytes are counted: "dram" (at the read ceiling), or a rate with or without its
    /// first word ("byte.l2", "l2", "smem_lsu", "dram_copy").
    std::string memory = "dram";
};

struct PointVerdict {
    std::string engine, memory;  ///< ids of the rates; empty where there is no such work
    double engine_rate = 0;      ///< flop/s or op/s
    double memory_rate = 0;      ///< byte/s
    double intensity = 0;        ///< flop a byte; 0 where there are no bytes
    double ridge = 0;            ///< the intensity at which both take as long
    double compute_seconds = 0;  ///< of the operations at the engine's rate
    double memory_seconds = 0;   ///< of the bytes at the memory's rate
    double bound_seconds = 0;    ///< the larger of both: nothing that does this work is faster
    std::string limiter;         ///< whose that is
    double of_roof = 0;          ///< bound over measured time; 0 where nothing was measured
    /// Bound over what it would be if the limiting rate were a tenth higher: 1.1, or less where the
    /// other resource then limits.
    double gain_of_tenth = 1;
    std::string rates;  ///< where the limiting rate comes from, in the words of `raceline predict`
};

/// `device` as in predict_shape. Throws Error(invalid_argument) for a count or time that is
/// negative or no number, for work without an engine, and for an engine or memory that the device
/// has no rate of, naming the nearest.
PointVerdict judge_point(const WorkPoint& point, const std::string& device = {});

}  // namespace raceline
