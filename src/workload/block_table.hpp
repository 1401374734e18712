// SPDX-License-Identifier: Apache-2.0
// The block table of a paged cache, and where its tokens lie.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/draw.hpp"
#include "workload/inputs.hpp"

namespace raceline {

/// Fills block table and lengths; returns the tokens that all pages hold. The table is shuffled by
/// `key`, over more pages than are used. Entries past a sequence's last page are garbage (poison)
/// or 0, and there is at least one of them in every row.
std::int64_t make_pages(Inputs& inputs, const Workload& workload, bool poison, std::uint64_t key);

/// Where each token of the cache goes: its index in (tokens, heads_kv, headdim).
std::vector<std::int64_t> token_slots(const Workload& workload, const Inputs& inputs);

/// An element in packed storage: of which type, and the how manieth.
struct StoredElement {
    DType dtype;
    std::size_t index;
};
/// Where a value of Draw::non_finite goes within its tensor. `slots` are token_slots.
StoredElement stored_element(const Workload& workload, const NonFinite& value,
                             const std::vector<std::int64_t>& slots);

}  // namespace raceline
