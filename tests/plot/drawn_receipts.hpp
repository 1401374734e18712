// SPDX-License-Identifier: Apache-2.0
// Committed receipts that tests draw, and a series of what was drawn.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "plot/chart.hpp"

namespace raceline::test {

inline std::string receipt(const std::string& name) {
    return std::string(RACELINE_SOURCE_DIR) + "/receipts/" + name;
}
inline const std::string compare_file = receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz");
inline const std::string training_file =
    receipt("h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz");
inline const std::string ladder_file = receipt("h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz");

inline const Series& series_called(const Panel& panel, const std::string& title) {
    const auto found = std::ranges::find(panel.series, title, &Series::title);
    if (found == panel.series.end()) {
        throw std::runtime_error("no series " + title);
    }
    return *found;
}

}  // namespace raceline::test
