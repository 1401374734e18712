// SPDX-License-Identifier: Apache-2.0
// A kernel's work for one launch, as counted from its code. For CPU and GPU alike: on a CPU a CTA
// is a task and a unit is a core.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/work.hpp"

namespace raceline {

/// Bytes that are read more than once, and the footprint they are read from: if the footprint fits
/// in the last-level cache, all but the first pass are served there, else from DRAM. They stand in
/// no `byte.dram_read` of work or steps (that is the first pass alone). Where `work` names the last
/// cache (`byte.llc` on a CPU, `byte.l2` on a GPU) that amount is all traffic through it, these
/// bytes included; where it does not, the model charges these bytes there itself.
struct Reread {
    double bytes = 0;           ///< all passes after the first
    double footprint = 0;       ///< bytes that must stay resident between passes
    bool by_same_unit = false;  ///< what a unit reads again it has read itself
};

/// One phase on a CTA's critical path. Without steps, the CTA's share of `work` is one phase.
struct Step {
    std::string name;
    double repeat = 1;  ///< times on the critical path of the heaviest CTA
    Work work;          ///< of one CTA, one repeat
    std::string waits;  ///< id of a latency paid at each repeat (latency.dram, …), or empty
    /// Clocks of a unit that the CTA's slowest thread or warp needs for one repeat with nothing in
    /// its way: dependent instructions, counted from the code. The repeat takes no less; other CTAs
    /// of the unit run meanwhile. 0: not counted.
    double clocks = 0;
    /// The same with 2, 3, … CTAs of the unit in each other's way, where the kernel knows it.
    /// Empty: the model lets them queue at the unit's busiest resource.
    // GCC warns of aggregates that leave out a member without an initializer.
    std::vector<double> clocks_together{};  // NOLINT(readability-redundant-member-init)
    /// Its repeats stand one behind the other. False: other steps lie between them.
    bool in_a_row = false;

    /// With so many CTAs on the unit; where the kernel knows fewer, as with those.
    [[nodiscard]] double clocks_among(std::int64_t ctas) const {
        const auto known = static_cast<std::int64_t>(clocks_together.size()) + 1;
        const std::int64_t among = ctas < known ? ctas : known;
        return among < 2 ? clocks : clocks_together[static_cast<std::size_t>(among) - 2];
    }
};

struct Counts {
    std::string launch;  ///< name of this launch: "main", "merge", …
    Work work;           ///< totals over the launch
    std::vector<Reread> reread;

    std::int64_t ctas = 1;
    int cluster = 1;
    int threads = 1;    ///< per CTA
    int registers = 0;  ///< per thread, declared; a test compares with the compiler's report
    std::int64_t smem_bytes = 0;  ///< per CTA, dynamic and static
    double bytes_in_flight = 0;   ///< per CTA, loads outstanding at once; 0: not a stream
    /// Work of the heaviest CTA over the mean (causal triangle, ragged batch); 1: balanced.
    double imbalance = 1;
    /// The CTAs are handed out longest first or dynamically, so that imbalance costs only the tail.
    bool balanced_order = false;

    std::vector<Step> steps;
    /// The steps' clocks are of all warps of the CTA together. False: of one warp alone, and the
    /// model lets the warps of the unit queue (residents.hpp).
    bool warps_counted = false;
    /// Resource ids that run side by side within a step; ids in no group are laid end to end. Two
    /// ids overlap if some group holds both, so an id may stand in several groups: with {fma, dram}
    /// and {exp, dram} a step takes max(fma + exp, dram). DRAM reads and writes are one resource.
    std::vector<std::vector<std::string>> overlap;
};

/// What a kernel of one launch returns; a list in braces would copy it.
inline std::vector<Counts> one_launch(Counts counts) {
    std::vector<Counts> launches;
    launches.push_back(std::move(counts));
    return launches;
}

}  // namespace raceline
