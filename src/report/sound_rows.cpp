// SPDX-License-Identifier: Apache-2.0
#include "report/sound_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "support/text_table.hpp"

namespace raceline {

SoundRows sound_rows_of(ReceiptFile file) {
    SoundRows sound;
    sound.unfinished = file.unfinished;
    std::set<std::size_t> broken;
    for (const BadLine& bad : file.bad) {
        broken.insert(bad.line);
    }
    std::set<std::size_t> changed;
    for (BadLine& bad : check_chain(file)) {
        // A row can be refused for its hash and for its place: it is one row.
        if (!broken.contains(bad.line) && changed.insert(bad.line).second) {
            sound.changed.push_back(std::move(bad));
        }
    }
    sound.broken = std::move(file.bad);
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        if (changed.contains(file.lines[i])) {
            sound.changed_rows.push_back(std::move(file.rows[i]));
        } else {
            sound.rows.push_back(std::move(file.rows[i]));
            sound.lines.push_back(file.lines[i]);
        }
    }
    return sound;
}

std::string changed_rows_text(const std::vector<BadLine>& changed) {
    if (changed.empty()) {
        return "";
    }
    constexpr std::size_t most = 5;
    std::vector<std::size_t> lines;
    for (std::size_t i = 0; i < std::min(most, changed.size()); ++i) {
        lines.push_back(changed[i].line);
    }
    const bool one = changed.size() == 1;
    return fmt::format("{} left out that {} not as {} written, in line{} {}{}: {}",
                       counted_text(changed.size(), "row"), one ? "is" : "are",
                       one ? "it was" : "they were", one ? "" : "s", fmt::join(lines, ", "),
                       changed.size() > most ? " and later" : "", changed.front().reason);
}

}  // namespace raceline
