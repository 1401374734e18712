// SPDX-License-Identifier: Apache-2.0
#include "receipt/left_files.hpp"

#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "receipt/manifest.hpp"
#include "support/check.hpp"
#include "support/json.hpp"

namespace raceline {
namespace {

// The first place where two lines differ, with both values; "" if they do not.
std::string first_difference(const Json& line, const Json& file) {
    const Json differences = Json::diff(line, file);
    if (differences.empty()) {
        return "";
    }
    const auto at = differences.front().at("path").get<std::string>();
    const Json::json_pointer place(at);
    const auto text = [&](const Json& from) {
        return from.contains(place) ? from.at(place).dump() : std::string("nothing");
    };
    return fmt::format("{} is {}, of the file it is {}", at, text(line), text(file));
}

// What is wrong with a line about a file of this content, as a clause; "" if nothing.
std::string fault_of(const Json& line, std::string_view content) {
    try {
        return first_difference(
            line, line_of_left_file(text_member(line, "path"), content, text_member(line, "commit"),
                                    line.value("schema", 1)));
    } catch (const std::exception& e) {
        return e.what();
    }
}

}  // namespace

std::vector<WrongLine> lines_unlike_their_files(std::span<const Json> lines,
                                                const GitHistory& history) {
    std::vector<GitHistory::FileInCommit> files;
    for (const Json& line : lines) {
        files.push_back({text_member(line, "commit"), text_member(line, "path")});
    }
    std::vector<WrongLine> wrong;
    history.read_files(files, [&](std::size_t place, std::optional<std::string_view> content) {
        const auto& [commit, path] = files[place];
        std::string why;
        if (!history.date_of(commit)) {
            why = fmt::format("its commit {} is of no branch and no tag", commit);
        } else if (!content) {
            why = fmt::format("its commit {} has no such file", commit);
        } else if (const std::string fault = fault_of(lines[place], *content); !fault.empty()) {
            why = fmt::format("not as commit {} has the file: {}", commit, fault);
        }
        if (!why.empty()) {
            wrong.push_back({place, fmt::format("{}: its line in the index: {}", path, why)});
        }
    });
    return wrong;
}

}  // namespace raceline
