// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace raceline {

/// What someone who wrote `word` may have meant, or "": the same word with other capital letters;
/// else a candidate that begins with it (from three letters on; of several the one that adds
/// least); else the nearest by edits (two letters that changed places are one), within a third of
/// the word's length (at least one edit); else one that contains it. Shared by everything that says
/// "did you mean".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Whether two words differ in nothing but capital letters and '-' for '_': "Prefill-SM90" is
/// prefill_sm90.
bool same_word(std::string_view a, std::string_view b);

/// The candidate that is the same word, spelled as in the list; "" if none is. One that is spelled
/// exactly so comes first.
std::string_view same_among(std::string_view word, std::span<const std::string_view> candidates);

/// How a sentence that refuses a word goes on: ": did you mean 'cpu_flash'? There are ..." with
/// `then` behind it, or "; there are ..." where nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string then = {});

/// The same with all candidates behind "there are".
std::string one_of_these(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace raceline
