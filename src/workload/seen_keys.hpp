// SPDX-License-Identifier: Apache-2.0
// Which keys one query row sees, where that need not be a range: new tokens of a sequence may form
// a tree. Includes nothing that a device translation unit may not see.
#pragma once

#include <cstdint>
#include <limits>

namespace raceline {

/// Query tokens of a sequence under a tree, at most: a word has a bit for each.
inline constexpr std::int64_t most_tree_tokens = 32;

/// Whether bit `place` of a word is set; of places that a word does not have, none is.
constexpr bool bit_is_set(std::uint32_t word, std::int64_t place) {
    return place >= 0 && place < most_tree_tokens && (word >> place & 1U) != 0;
}

/// Keys [first, last), and of those from `first_new` on only the ones whose bit is set: bit j
/// stands for key first_new + j. first_new is negative where a cache has fewer keys than the call
/// has query tokens. Without a tree no key is a new one.
struct SeenKeys {
    std::int64_t first, last;
    std::int64_t first_new = std::numeric_limits<std::int64_t>::max();
    std::uint32_t word = 0;

    [[nodiscard]] constexpr bool sees(std::int64_t key) const {
        return key >= first && key < last && (key < first_new || bit_is_set(word, key - first_new));
    }
    /// How many keys it sees.
    [[nodiscard]] constexpr std::int64_t count() const {
        const std::int64_t old_end = last < first_new ? last : first_new;
        std::int64_t keys = old_end > first ? old_end - first : 0;
        for (std::int64_t place = 0; place < most_tree_tokens && old_end < last; ++place) {
            keys += sees(first_new + place) ? 1 : 0;
        }
        return keys;
    }
};

}  // namespace raceline
