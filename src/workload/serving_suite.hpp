// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/workload.hpp"

namespace raceline {

/// `count` different batches of a server's decode steps, drawn from `seed`: 1 to 256 sequences of 1
/// to 131,072 keys, any doubling of both as likely as any other; 1 to 16 query tokens, in some
/// batches each sequence with a number of its own; every option, cache format and page size, MLA
/// among them. A cache has at most 16 GB.
std::vector<Workload> draw_serving(std::uint64_t seed, std::size_t count);

}  // namespace raceline
