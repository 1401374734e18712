// SPDX-License-Identifier: Apache-2.0
// Outputs are filled with NaN before a launch, so that an element which no launch wrote is found.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/gate.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// "row 3 of head 2 in sequence 0"
std::string place_of(const Row& at);

/// (sequence, row, head) of row `index` of packed (tokens, heads) storage.
Row row_at(const Workload& workload, std::int64_t index);

/// A sentence about the first element of the output that is NaN or infinite, or LSE that is NaN or
/// +inf; empty if there is none. Packed as inputs.hpp lays them out; lse may be empty.
std::string find_poison(const Workload& workload, std::span<const std::byte> out,
                        std::span<const float> lse);

}  // namespace raceline
