// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workload/workload.hpp"

namespace raceline {

/// `count` shapes drawn from `seed`, none of them among `taken` (types aside) nor twice. Prefill
/// and decode, grouped, ragged, paged, masked; each small enough for two CPU cores in a second.
std::vector<Workload> draw_workloads(std::uint64_t seed, std::size_t count,
                                     std::span<const Workload> taken);

}  // namespace raceline
