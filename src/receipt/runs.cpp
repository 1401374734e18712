// SPDX-License-Identifier: Apache-2.0
#include "receipt/runs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace raceline {

std::string run_of(const Json& row) {
    return row.at("git").dump() + row.at("argv").dump();
}

std::map<std::string, std::string> starts_of_runs(std::span<const Json> rows) {
    std::map<std::string, std::string> starts;
    for (const Json& row : rows) {
        const auto written = row.at("written").get<std::string>();
        std::string& start = starts[run_of(row)];
        start = start.empty() ? written : std::min(start, written);
    }
    return starts;
}

}  // namespace raceline
