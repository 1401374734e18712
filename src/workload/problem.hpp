// SPDX-License-Identifier: Apache-2.0
// What a workload and the arguments of a launch have in common: all that decides how a call is cut
// up. Counts make it of a workload, launches of their arguments; plans, schedules and kernels read
// nothing else, so that what is counted is what runs.
#pragma once

#include <cstdint>

#include "workload/attention_args.hpp"
#include "workload/band.hpp"
#include "workload/workload.hpp"

namespace raceline {

struct Problem {
    std::int64_t batch, heads_q, heads_kv;
    std::int64_t seqlen_q, seqlen_k;  ///< the longest sequence's
    std::int64_t headdim, headdim_v;
    Window window;   ///< causal folded in; a negative side is unbounded
    bool ragged;     ///< lengths differ between sequences, perhaps in a way only the device knows
    bool shared_kv;  ///< V is the first columns of K
    std::int64_t page_size;  ///< tokens of a page of the cache; 0: contiguous

    /// Query heads of a KV head.
    [[nodiscard]] std::int64_t group() const { return heads_kv > 0 ? heads_q / heads_kv : 1; }
    /// Rows may differ in their number of keys.
    [[nodiscard]] bool uneven() const { return ragged || window.left >= 0 || window.right >= 0; }
    /// Of a sequence of the longest lengths. These must stay below 2^30.
    [[nodiscard]] Band band() const;
};

Problem problem_of(const Workload& workload);
Problem problem_of(const AttentionArgs& args);

/// Of sequence b of a workload; `longest` is its Problem's band, whose sides hold for all.
Band band_of(const Workload& workload, const Band& longest, std::int64_t b);

}  // namespace raceline
