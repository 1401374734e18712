// SPDX-License-Identifier: Apache-2.0
// How long one step of a CTA takes when some of its resources run side by side.
#pragma once

#include <cstdint>
#include <span>

namespace raceline {

/// The chain of resources, used one after another, that decides a step's time.
struct StepTime {
    double seconds = 0;
    std::uint32_t chain = 0;  ///< bit i: resource i stands in the chain
};

/// Longest chain of resources of which no two may overlap: with disjoint groups the sum over groups
/// of the longest in each; ids in no group overlap nothing, so all of them are in the chain.
/// `seconds[i]` is what resource i takes alone, bit j of `beside[i]` says that i and j overlap.
/// At most 32 resources. Formula: maximum-weight clique of the graph "may not overlap", a lower
/// bound of every order that respects it and exact for groups as kernels write them.
StepTime step_time(std::span<const double> seconds, std::span<const std::uint32_t> beside);

}  // namespace raceline
