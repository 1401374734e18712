// SPDX-License-Identifier: Apache-2.0
// What ceilings of one machine say about each other.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "receipt/values.hpp"

namespace raceline {

/// A sentence for each pair of ceilings that cannot both be right: all cores slower than one of
/// them, or far from a limit that one of them reaches; a cache slower than what is behind it; a
/// burst slower than what is kept up.
std::vector<std::string> contradictions(std::span<const Ceiling> ceilings);

/// Of each resource the better one: the higher rate, or the shorter time.
std::vector<Ceiling> better_of(std::span<const Ceiling> a, std::span<const Ceiling> b);

/// Probes, and probes again (three times in all) while ceilings contradict each other, keeping the
/// better of each. Throws Error(internal) with the sentences if they still do.
std::vector<Ceiling> probe_until_consistent(const std::function<std::vector<Ceiling>()>& probe);

}  // namespace raceline
