// SPDX-License-Identifier: Apache-2.0
// Trees of speculated tokens, as a workload draws them.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/seen_keys.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// The drawn tree of one sequence: a word a query token, of which bit j is set if the token sees
/// the sequence's new token j. Those are itself and its ancestors; a token's parent is any of the
/// tokens before it, or none. Only for a workload with a tree.
std::vector<std::uint32_t> drawn_tree(const Workload& workload, std::int64_t sequence);

/// The words of all sequences as inputs hold them, packed like the query tokens. With `garbage`,
/// bits that stand for no token hold some, as entries of a block table past its end do.
std::vector<std::uint32_t> stored_trees(const Workload& workload, std::uint64_t seed, bool garbage);

/// What row `row` of a sequence sees if its word is `word`, which without a tree is not looked at.
SeenKeys seen_keys_of(const Workload& workload, std::int64_t sequence, std::int64_t row,
                      std::uint32_t word);

/// (query, key) pairs of one query head of a sequence that the drawn tree leaves.
double pairs_of_tree(const Workload& workload, std::int64_t sequence);

}  // namespace raceline
