// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "receipt/rows.hpp"
#include "support/json.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// What a report shows of rows that are no measurements: a table or a line for each kind.
class OtherRows {
public:
    /// A row of any kind, in the order of the file.
    void add(const Json& row);
    /// Empty where there were none.
    [[nodiscard]] std::string str(const TextStyle& style = {}) const;

private:
    struct Checks {
        int passed = 0, failed = 0;
        double largest = 0;  ///< relative RMS over its bound
    };
    void add_comparison(const Json& row);
    void add_check(const Json& row);
    void add_counters(const Json& row);
    [[nodiscard]] std::string unanswered(const TextStyle& style) const;
    [[nodiscard]] std::string checks(const TextStyle& style) const;

    std::map<std::string, PredictionRow> open_;  ///< predictions that no row answers, by id
    std::map<std::string, std::string> about_;   ///< kernel and shape of measurements, by id
    std::vector<std::vector<std::string>> comparisons_, ceilings_, counters_, bounds_;
    std::map<std::string, Checks> checks_;  ///< by kernel and device
    std::set<std::string> devices_, kernels_;
};

}  // namespace raceline
