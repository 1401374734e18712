// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "receipt/stored_text.hpp"
#include "report/sound_rows.hpp"
#include "report/timed_rows.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// Of a damaged file no row is known.
std::vector<Json> rows_if_sound(const std::string& path) {
    try {
        return sound_rows_of(read_receipts(path)).rows;
    } catch (const Error& error) {
        if (error.status() != Status::corrupt) {
            throw;
        }
        return {};
    }
}

}  // namespace

std::vector<std::string> commits_in(const std::string& receipts) {
    if (!std::filesystem::is_directory(receipts)) {
        return {};
    }
    std::map<std::string, std::string> written;
    for (const std::string& path : stored_receipts(receipts)) {
        for (const Json& row : rows_if_sound(path)) {
            std::string& last =
                written[row.at("git").at("commit").get<std::string>().substr(0, 12)];
            last = std::max(last, row.at("written").get<std::string>());
        }
    }
    std::vector<std::string> commits;
    commits.reserve(written.size());
    for (const auto& [commit, when] : written) {
        commits.push_back(commit);
    }
    std::ranges::sort(commits, std::greater(), [&](const std::string& commit) {
        return std::pair(written.at(commit), commit);
    });
    return commits;
}

}  // namespace raceline
