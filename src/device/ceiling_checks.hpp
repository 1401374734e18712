// SPDX-License-Identifier: Apache-2.0
// What ceilings of one machine say about each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "receipt/values.hpp"

namespace raceline {

/// A sentence for each pair of ceilings that cannot both be right: all cores slower than one of
/// them, or far from a limit that one of them reaches; a cache slower than what is behind it; a
/// burst slower than what is kept up.
std::vector<std::string> contradictions(std::span<const Ceiling> ceilings);

}  // namespace raceline
