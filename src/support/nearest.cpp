// SPDX-License-Identifier: Apache-2.0
#include "support/nearest.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace raceline {
namespace {

// Whether a letter is large or small is not what makes a word another one.
std::string small_letters(std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return small;
}

// Levenshtein's, with neighbours that changed places as one edit ("bnech"): optimal string
// alignment.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before = std::exchange(above, row);
    }
    return above.back();
}

// How a candidate resembles the word, the closest kind first; and within a kind how far it is.
enum class Kind : unsigned char { same, begins_with, near, contains, within, other };
struct Resemblance {
    Kind kind = Kind::other;
    std::size_t distance = 0;
    auto operator<=>(const Resemblance&) const = default;
};

Resemblance resemblance(const std::string& word, const std::string& candidate) {
    constexpr std::size_t least_part = 3;  // shorter parts are in too many words
    const std::size_t distance = edits(word, candidate);
    if (distance == 0) {
        return {Kind::same, 0};
    }
    if (word.size() >= least_part && candidate.starts_with(word)) {
        return {Kind::begins_with, distance};
    }
    // Not if every letter is another one.
    if (distance < word.size() && distance <= std::max<std::size_t>(1, word.size() / 3)) {
        return {Kind::near, distance};
    }
    if (word.size() >= least_part && candidate.find(word) != std::string::npos) {
        return {Kind::contains, distance};
    }
    if (candidate.size() >= least_part && word.find(candidate) != std::string::npos) {
        return {Kind::within, distance};
    }
    return {};
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    const std::string wanted = small_letters(word);
    std::string_view best;
    Resemblance closest;
    for (const std::string_view candidate : candidates) {
        const Resemblance found = resemblance(wanted, small_letters(candidate));
        // Of two that begin with the word, as close, the later: a100-80, not a100-40.
        const bool later = found.kind == Kind::begins_with && found == closest;
        if (found < closest || later) {
            closest = found;
            best = candidate;
        }
    }
    return best;
}

bool same_word(std::string_view a, std::string_view b) {
    constexpr auto letter = [](char c) {
        return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) {
               return letter(x) == letter(y);
           });
}

std::string_view same_among(std::string_view word, std::span<const std::string_view> candidates) {
    std::string_view same;
    for (const std::string_view candidate : candidates) {
        if (candidate == word) {
            return candidate;
        }
        if (same.empty() && same_word(word, candidate)) {
            same = candidate;
        }
    }
    return same;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string then) {
    const std::string_view meant = nearest(word, candidates);
    if (meant.empty()) {
        return then.empty() ? then : "; " + then;
    }
    if (!then.empty() && then[0] >= 'a' && then[0] <= 'z') {
        then[0] = static_cast<char>(then[0] - 'a' + 'A');
    }
    return ": did you mean '" + std::string(meant) + "'?" + (then.empty() ? "" : " " + then);
}

std::string one_of_these(std::string_view word, std::span<const std::string_view> candidates) {
    std::string list;
    const std::string begin = candidates.size() == 1 ? "there is " : "there are ";
    for (const std::string_view candidate : candidates) {
        list += (list.empty() ? begin : ", ") + std::string(candidate);
    }
    return did_you_mean(word, candidates, list);
}

}  // namespace raceline
