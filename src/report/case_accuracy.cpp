// SPDX-License-Identifier: Apache-2.0
#include "report/case_accuracy.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "support/statistics.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

struct TimeRegime {
    std::string_view name;
    double below;
};
constexpr std::array time_regimes{TimeRegime{"under 20 µs", 20e-6}, TimeRegime{"20–100 µs", 100e-6},
                                  TimeRegime{"over 100 µs", 1e300}};

// What one line of the table is about; sorted as it is printed.
struct ErrorGroup {
    std::string kernel;
    std::optional<Sight> sight;
    std::size_t regime;
    auto operator<=>(const ErrorGroup&) const = default;
};

struct ErrorTimes {
    std::vector<double> predicted, measured;
};

std::map<ErrorGroup, ErrorTimes> error_groups(std::span<const CaseLine> lines) {
    std::map<ErrorGroup, ErrorTimes> groups;
    for (const CaseLine& line : lines) {
        if (line.unsettled.empty() && line.predicted > 0 && line.measured > 0) {
            const auto regime =
                std::ranges::upper_bound(time_regimes, line.measured, {}, &TimeRegime::below);
            if (regime != time_regimes.end()) {
                ErrorTimes& times =
                    groups[{line.kernel, line.sight,
                            static_cast<std::size_t>(regime - time_regimes.begin())}];
                times.predicted.push_back(line.predicted);
                times.measured.push_back(line.measured);
            }
        }
    }
    return groups;
}

std::vector<std::string> error_cells(const ErrorGroup& group, const ErrorTimes& times,
                                     bool with_sight) {
    const PredictionAccuracy a = accuracy(times.predicted, times.measured);
    std::vector<std::string> cells{group.kernel};
    if (with_sight) {
        cells.emplace_back(group.sight ? sight_name(*group.sight) : "");
    }
    cells.insert(cells.end(),
                 {std::string(time_regimes.at(group.regime).name), fmt::format("{}", a.count),
                  format_percent(a.median_absolute, 1), format_percent(a.mean_absolute, 1),
                  format_percent(a.p90_absolute, 1), format_signed_percent(a.bias, 1),
                  format_percent(a.within_10), format_percent(a.within_20)});
    return cells;
}

}  // namespace

std::string accuracy_text(std::span<const CaseLine> lines, const TextStyle& style) {
    const std::map<ErrorGroup, ErrorTimes> groups = error_groups(lines);
    if (groups.empty()) {
        return "";
    }
    const bool with_sight = std::ranges::any_of(
        groups, [](const auto& group) { return group.first.sight.has_value(); });
    TextTable table(fmt::format(
        "kernel | {}measured time | >rows | >median | >?2 mean | >p90 | >bias | >?1 within 10 % | "
        ">?3 within 20 %",
        with_sight ? "class | " : ""));
    for (const auto& [group, times] : groups) {
        table.add(error_cells(group, times, with_sight));
    }
    return "\n" +
           inked("Errors of the model's predictions, absolute but for the bias", Ink::heading,
                 style) +
           "\n" + table.str(style) + "\n";
}

}  // namespace raceline
