// SPDX-License-Identifier: Apache-2.0
// Decode's q of sequences with different numbers of new tokens: what the host knows of it.
#pragma once

#include <cstdint>
#include <limits>

#include "raceline/raceline.hpp"
#include "workload/workload.hpp"

namespace raceline::api {

inline constexpr std::int64_t longest_sequence = std::numeric_limits<std::int32_t>::max();

bool is_packed(const DecodeArgs& args);
/// Of q, packed or not: words of a tree, rows of an output's head.
std::int64_t tokens_of(const DecodeArgs& args);
/// Refuses without a packed q what belongs to one.
void check_packing(const DecodeArgs& args);
/// Batch and new tokens of a packed q, whose sums the host need not have.
void read_packed_sizes(const DecodeArgs& args, Workload& workload);

}  // namespace raceline::api
