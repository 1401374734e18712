// SPDX-License-Identifier: Apache-2.0
// What a CTA of a persistent forward kernel does from its start to its end, as the steps of the
// model: host code of counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/constant.hpp"
#include "model/counts.hpp"
#include "schedule/share.hpp"

namespace raceline::schedule {

/// Work of a CTA for one block, and at a work tile's ends. Its blocks are one stream over all its
/// work tiles: first the scores and the softmax of a block, then for every other block its scores,
/// its softmax and the values of the block before, at last values.
struct BlockWork {
    Work scores, first_softmax, softmax, values, start, finish;
};

/// Clocks of the warpgroups in each other's way.
struct StepClocks {
    double first_softmax;  ///< of the CTA's first block, which stands alone
    double first_block;    ///< of any other work tile's
    double block, mask, between;
};

/// What a CTA fetches one after the other before its first scores, each from DRAM or, for code and
/// arguments, through caches that the launch before has emptied: code, arguments, the
/// descriptor's and the copies' code, the tensor maps, the blocks, the first block's code. Which
/// of these wait for which is not known.
inline constexpr Constant trips_before_start =
    calibrated("start.trips", 6,
               "calls of prefill_sm90 with one row a head, and its random suites once the latency "
               "was that of a CTA: "
               "receipts/h200/2026-11-22-random-20261130-1f24940c08f4",
               1, "the first block's copy alone waits for memory");

/// Of the CTA that is busy longest. `clocks(working)`: where so many of a CTA's `warpgroups` have
/// rows, as in the mean of its work tiles. A packed batch's lengths are one trip more.
template <class Clocks>
std::vector<Step> steps_of(const Share& share, const BlockWork& p, int warpgroups, bool ragged,
                           const Clocks& clocks) {
    const Load& most = share.most;
    const double any = most.work_tiles > 0 ? 1 : 0;
    const double firsts = std::max(0.0, most.work_tiles - any);
    const double trips = trips_before_start + (ragged ? 1 : 0);
    const int working =
        any > 0 ? static_cast<int>(std::lround(most.warpgroups / most.work_tiles)) : warpgroups;
    const StepClocks c = clocks(working);
    return {{"start", any * trips, {}, "latency.dram"},
            {"rows", any, p.start, ""},
            {"first scores", any, p.scores, ""},
            {"first softmax", any, p.first_softmax, "", c.first_softmax},
            {"work tile's first block", firsts, p.scores + p.first_softmax + p.values, "",
             c.first_block},
            {"block", std::max(0.0, most.worked - most.firsts), p.scores + p.softmax + p.values, "",
             c.block},
            {"masks", most.masked, {}, "", c.mask},
            {"last values", any, p.values, ""},
            {"finish", most.work_tiles, p.finish, "", c.between}};
}

/// The memset of the counter that work tiles are drawn from: no CTA, a floor.
inline Counts clearing() {
    Counts c;
    c.launch = "clear";
    c.ctas = 0;
    return c;
}

}  // namespace raceline::schedule
