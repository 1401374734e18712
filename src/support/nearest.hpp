// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace raceline {

/// The candidate nearest to `word` by Levenshtein distance, or "" if none is within a third of the
/// word's length (at least one edit). Shared by everything that says "did you mean".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace raceline
