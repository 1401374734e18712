// SPDX-License-Identifier: Apache-2.0
// Receipt rows of the ladder's suites, arranged by device, rung and case.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "receipt/past_measurement.hpp"
#include "registry/kernel.hpp"
#include "report/first_sight.hpp"
#include "report/ladder_verdict.hpp"
#include "support/json.hpp"

namespace raceline {

class LadderCases {
public:
    /// `left`: of files that left the work tree, by the index. Each file counts as one program run.
    /// Whether the code has changed since is not known of these: their rows count as stale.
    explicit LadderCases(std::span<const Json> rows, std::span<const PastFile> left = {});

    [[nodiscard]] const std::set<std::string>& devices() const { return devices_; }

    /// Cases of a rung in a suite, in the suite's order, as they ran at first sight: in the first
    /// program run whose result the gate passed, and of several tiles with the one predicted to be
    /// the fastest. Later runs cannot mend a miss; the last one stands beside. Each comes with the
    /// same case of the rung's predecessor: the same workload, or the one that differs in what a
    /// rung may change alone, the cache's type or, where there is none of these, its paging.
    /// Where other receipts measured the case earlier, it says so: `first_sight` is false then.
    /// Counters are of the first run that was profiled, beside the prediction written before that
    /// run.
    [[nodiscard]] std::vector<RungCase> of(const std::string& device, const Kernel& rung,
                                           std::string_view suite) const;

private:
    struct Run {
        std::string session;  ///< of one program run
        std::string written;
        RungCase result;
    };
    struct Runs {
        std::string shape, plain_shape, loose_shape;
        std::vector<Run> in_time;
        [[nodiscard]] RungCase at_first_sight() const;
    };
    void add(const Json& row);
    void add(const PastFile& file, const PastMeasurement& past);
    void judge_by(std::span<const Json> rows, std::span<const PastFile> left);
    /// `of`: a row, or its members device, suite, kernel and case.
    void insert(const Json& of, const Workload& workload, Run run);
    [[nodiscard]] const Runs* before(const std::string& device, std::string_view suite,
                                     std::string_view predecessor, const Runs& runs) const;

    FirstSights sights_;
    std::map<std::string, std::string> began_;  ///< runs, by run_of
    std::set<std::string> devices_;
    std::map<std::string, Json> predictions_;  ///< by id
    std::map<std::string, Json> counters_;     ///< by measurement id
    std::map<std::string, std::map<std::string, Runs>>
        runs_;  ///< by device/suite/kernel, then case
};

}  // namespace raceline
