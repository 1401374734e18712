// SPDX-License-Identifier: Apache-2.0
// What a script asks gnuplot to write into legends and over panels.
#pragma once

#include <string>
#include <vector>

namespace raceline::test {

/// Every title that is not empty, without its quotes.
inline std::vector<std::string> titles_in(const std::string& script) {
    const std::string before = "title '";
    std::vector<std::string> titles;
    for (auto at = script.find(before); at != std::string::npos; at = script.find(before, at)) {
        at += before.size();
        std::string title;
        // A quote of the title is written twice.
        for (; script[at] != '\'' || script[at + 1] == '\''; ++at) {
            at += script[at] == '\'' ? 1 : 0;
            title += script[at];
        }
        if (!title.empty()) {
            titles.push_back(title);
        }
    }
    return titles;
}

}  // namespace raceline::test
