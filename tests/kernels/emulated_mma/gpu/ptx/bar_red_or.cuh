// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline std::array<int, 16> bar_red_votes{};

/// The second barrier keeps a vote standing until all have seen it.
inline bool bar_red_or(int barrier, int threads, bool mine) {
    int& votes = bar_red_votes[static_cast<std::size_t>(barrier)];
    votes += mine ? 1 : 0;
    test::Machine::get().named_barrier(barrier, threads, true);
    const bool any = votes > 0;
    test::Machine::get().named_barrier(barrier, threads, true);
    votes -= mine ? 1 : 0;
    return any;
}

}  // namespace raceline::ptx
