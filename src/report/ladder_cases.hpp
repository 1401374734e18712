// SPDX-License-Identifier: Apache-2.0
// Receipt rows of the ladder's suites, arranged by device, rung and case.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "registry/kernel.hpp"
#include "report/ladder_verdict.hpp"
#include "support/json.hpp"

namespace raceline {

class LadderCases {
public:
    explicit LadderCases(std::span<const Json> rows);

    [[nodiscard]] const std::set<std::string>& devices() const { return devices_; }

    /// Cases of a rung in a suite, in the suite's order, each with the same case of the rung's
    /// predecessor: the same workload, or the one that differs in what the rung may change alone,
    /// the cache's type and its paging.
    [[nodiscard]] std::vector<RungCase> of(const std::string& device, const Kernel& rung,
                                           std::string_view suite) const;

private:
    struct Run {
        std::string shape, loose_shape, written;
        RungCase result;
    };
    void add(const Json& row);
    [[nodiscard]] const Run* before(const std::string& device, std::string_view suite,
                                    std::string_view predecessor, const Run& run) const;

    std::set<std::string> devices_;
    std::map<std::string, Json> predictions_;                 ///< by id
    std::map<std::string, std::string> counted_;              ///< limiter by measurement id
    std::map<std::string, std::map<std::string, Run>> runs_;  ///< by device/suite/kernel, then case
};

}  // namespace raceline
