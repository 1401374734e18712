// SPDX-License-Identifier: Apache-2.0
// A list in a text, taken apart.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace raceline {

/// What stands between commas; nothing for an empty text.
inline std::vector<std::string> words_of(const std::string& list) {
    std::vector<std::string> words;
    std::istringstream text(list);
    for (std::string word; std::getline(text, word, ',');) {
        words.push_back(word);
    }
    return words;
}

}  // namespace raceline
