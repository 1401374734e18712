// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace raceline {

/// What someone who wrote `word` may have meant, or "": the same word with other capital letters;
/// else a candidate that begins with it (from three letters on; of several the one that adds
/// least); else the nearest by Levenshtein distance, within a third of the word's length (at least
/// one edit); else one that contains it. Shared by everything that says "did you mean".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace raceline
