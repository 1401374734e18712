// SPDX-License-Identifier: Apache-2.0
// The tracks of the ladder: which rungs they have, in which order, and the case that is shown.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "registry/registry.hpp"
#include "report/ladder_verdict.hpp"

namespace raceline {

struct LadderTrack {
    std::string_view name, title, suite;
    std::string_view reference;  ///< the case shown of every rung that takes it
};
std::span<const LadderTrack> ladder_tracks();

/// Rungs of a track, each after its predecessor, by name where several share one; last those that
/// begin after another track's rung.
std::vector<const Kernel*> rungs_of(std::string_view track);

/// Of a rung's cases the one of this shape, else the same with the cache that the rung takes, else
/// the first; null where there is none.
const RungCase* shown_case(const std::vector<RungCase>& cases, std::string_view reference);

}  // namespace raceline
