// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "plot/charts.hpp"
#include "report/ladder_verdict.hpp"
#include "report/scorecard_text.hpp"

namespace raceline {
namespace {

constexpr std::array regimes{Regime::under_20us, Regime::from_20us_to_100us, Regime::over_100us};
constexpr std::array<std::string_view, 3> regime_words{"under 20 µs", "20–100 µs", "over 100 µs"};
constexpr std::array regime_borders{20e-6, 100e-6};

std::size_t index_of(Regime regime) {
    return static_cast<std::size_t>(std::ranges::find(regimes, regime) - regimes.begin());
}

Series look_of(bool hit) {
    constexpr double small = 0.75;  // a triangle looks larger than a circle of its size
    return {.title = hit ? "within 20 %" : "missed",
            .colour = hit ? Colour::blue : Colour::vermillion,
            .mark = hit ? Mark::circle : Mark::triangle,
            .size = hit ? 1 : small,
            .points = {}};
}

// predicted = measured × factor, over the whole width.
Series diagonal(const Axis& x, double factor, Line line) {
    return {.title = {},
            .colour = line == Line::solid ? Colour::black : Colour::grey,
            .line = line,
            .points = {{x.low, x.low * factor}, {x.high, x.high * factor}}};
}

// Where a regime ends, and its name above.
void add_regimes(Panel& panel) {
    double from = panel.x.low;
    for (std::size_t i = 0; i < regimes.size(); ++i) {
        const double to = i < regime_borders.size() ? regime_borders.at(i) : panel.x.high;
        if (to <= from || from >= panel.x.high) {
            continue;
        }
        panel.series.push_back({.title = {},
                                .colour = Colour::grey,
                                .line = Line::dotted,
                                .points = {{to, panel.y.low}, {to, panel.y.high}}});
        // The first one begins at the axis: its middle may be too close to it.
        panel.texts.push_back({.x = i == 0 ? from * std::pow(panel.x.high / panel.x.low, 0.01)
                                           : std::sqrt(from * std::min(to, panel.x.high)),
                               .y = panel.y.low * std::pow(panel.y.high / panel.y.low, 0.97),
                               .text = std::string(regime_words.at(i)),
                               .colour = Colour::black,
                               .align = i == 0 ? Align::left : Align::centre,
                               .towards = {},
                               .backed = true,
                               .lines_below = i == 1 ? 1.05 : 0});
        from = to;
    }
}

// Ninety per cent of past errors of the regime: where the measured time was expected to lie.
Series bands_of(std::span<const ScoredRow> rows) {
    Series bands{.title = "band of the prediction",
                 .colour = Colour::grey,
                 .mark = Mark::none,
                 .line = Line::solid,
                 .width = 0.6,
                 .points = {}};
    for (const ScoredRow& row : rows) {
        if (row.band) {
            bands.points.push_back({row.band->low, row.seconds});
            bands.points.push_back({row.band->high, row.seconds});
            bands.points.push_back({NAN, NAN});
        }
    }
    return bands;
}

// Both classes on the same axes, so that they can be compared.
Axis axis_of_times(const std::vector<ScoredRow>& rows) {
    Axis axis{.title = {}, .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    std::vector<double> times;
    for (const ScoredRow& row : rows) {
        times.insert(times.end(), {row.measured, row.seconds});
    }
    fit(axis, times, 0.03);
    return axis;
}

// Of rows whose marks would stand on each other the first: thousands of them are no more to be seen
// than one is, and a picture of them all takes a megabyte. Hits and misses do not hide each other.
std::vector<ScoredRow> apart(std::span<const ScoredRow> rows, const Axis& times) {
    constexpr double places = 90;  // on either axis, half a mark each
    std::set<std::tuple<bool, long, long>> taken;
    std::vector<ScoredRow> some;
    const auto place_of = [&](double time) {
        return std::lround(places * std::log(time / times.low) / std::log(times.high / times.low));
    };
    for (const ScoredRow& row : rows) {
        if (taken
                .emplace(time_hit(row.seconds, row.measured), place_of(row.measured),
                         place_of(row.seconds))
                .second) {
            some.push_back(row);
        }
    }
    return some;
}

Panel predicted_over_measured(std::span<const ScoredRow> rows, const Axis& times, std::size_t all,
                              std::string_view title) {
    Panel panel;
    const auto hits = std::ranges::count_if(
        rows, [](const ScoredRow& row) { return time_hit(row.seconds, row.measured); });
    panel.title = fmt::format(
        "{}: {} of {} rows{}", title, rows.size(), all,
        rows.empty() ? ""
                     : fmt::format(", {:.0f} % within 20 %", 100.0 * static_cast<double>(hits) /
                                                                 static_cast<double>(rows.size())));
    panel.x = panel.y = times;
    panel.x.title = "measured";
    panel.y.title = "predicted";
    panel.left_margin = 92;
    if (rows.empty()) {
        panel.missing = fmt::format(
            "No row {}.", title == "first sight" ? "at first sight" : "that was seen before");
        return panel;
    }
    add_regimes(panel);
    const std::vector<ScoredRow> shown = apart(rows, times);
    if (Series bands = bands_of(shown); !bands.points.empty()) {
        panel.series.push_back(std::move(bands));
    }
    panel.series.push_back(diagonal(panel.x, 1, Line::solid));
    panel.series.push_back(diagonal(panel.x, 1 + time_tolerance, Line::dashed));
    panel.series.push_back(diagonal(panel.x, 1 - time_tolerance, Line::dashed));
    // Misses below hits, which are more.
    for (const bool hit : {false, true}) {
        Series series = look_of(hit);
        for (const ScoredRow& row : shown) {
            if (time_hit(row.seconds, row.measured) == hit) {
                series.points.push_back({row.measured, row.seconds});
            }
        }
        series.title +=
            fmt::format(" ({})", hit ? hits : static_cast<std::ptrdiff_t>(rows.size()) - hits);
        panel.series.push_back(std::move(series));
    }
    return panel;
}

struct Baseline {
    std::string_view title;
    Beside Score::* number;
};
constexpr std::array baselines{
    Baseline{"expected", &Score::expected}, Baseline{"uncalibrated", &Score::uncalibrated},
    Baseline{"roofline + launch floor", &Score::launch_floor},
    Baseline{"roofline", &Score::roofline}, Baseline{"datasheet", &Score::datasheet}};

// Medians by regime, the classes left and right in each; the model itself first.
Series errors_of(const std::vector<Score>& scores, std::size_t which, double shift) {
    const bool model = which == 0;
    Series series{.title = model ? "model" : std::string(baselines.at(which - 1).title),
                  .colour = nth_colour(which),
                  .mark = nth_mark(which),
                  .filled = model,
                  .points = {}};
    for (const Score& score : scores) {
        const Beside other =
            model ? Beside{.count = score.accuracy.count, .median = score.accuracy.median_absolute}
                  : score.*baselines.at(which - 1).number;
        if (other.count > 0) {
            const double x = 4 * static_cast<double>(index_of(score.group.regime)) +
                             static_cast<double>(score.group.sight) + shift;
            series.points.push_back({x, 100 * other.median});
        }
    }
    return series;
}

std::string_view sight_word(Sight sight) {
    return sight == Sight::new_kernel ? "new kernel"
           : sight == Sight::new_case ? "new case"
                                      : "seen";
}

Panel errors_by_regime(const std::vector<Score>& scores) {
    Panel panel;
    panel.title = "median error by regime and class (number of rows)";
    panel.left_margin = 64;
    panel.y = {.title = "", .scale = Scale::percent, .ticks = {}};
    panel.x = {.title = {}, .low = -0.7, .high = 10.7, .ticks = {}};
    std::vector<double> errors{0};
    for (std::size_t which = 0; which <= baselines.size(); ++which) {
        Series series = errors_of(scores, which, 0.12 * (static_cast<double>(which) - 2.5));
        for (const ChartPoint& point : series.points) {
            errors.push_back(point.y);
        }
        panel.series.push_back(std::move(series));
    }
    fit(panel.y, errors);
    panel.y.low = 0;
    panel.y.high *= 1.08;
    for (std::size_t i = 0; i < regimes.size(); ++i) {
        const double middle = 4 * static_cast<double>(i) + 1;
        panel.texts.push_back({.x = middle,
                               .y = 0.97 * panel.y.high,
                               .text = std::string(regime_words.at(i)),
                               .colour = Colour::black,
                               .align = Align::centre,
                               .towards = {}});
    }
    for (const Score& score : scores) {
        panel.x.ticks.emplace_back(
            4 * static_cast<double>(index_of(score.group.regime)) +
                static_cast<double>(score.group.sight),
            fmt::format("{} ({})", sight_word(score.group.sight), score.accuracy.count));
    }
    panel.x.upright = true;
    return panel;
}

std::vector<std::string> notes_of(const Scorecard& card, std::size_t rows) {
    std::vector<std::string> notes;
    const LeftOut& out = card.left_out();
    if (rows == 0) {
        notes.push_back("No row that counts in these receipts.");
    }
    if (const int all = out.unsettled + out.failed + out.unpredicted + out.dirty + out.broken;
        all > 0) {
        notes.push_back(
            fmt::format("Left out: {} unsettled, {} refused by the gate, {} without prediction, {} "
                        "of a changed "
                        "tree, {} broken.",
                        out.unsettled, out.failed, out.unpredicted, out.dirty, out.broken));
    }
    if (std::string together = machines_together(card); !together.empty()) {
        notes.push_back(std::move(together));
    }
    return notes;
}

Chart nothing_scored(const Scorecard& card) {
    Chart chart{.title = "Predictions against measurements",
                .notes = notes_of(card, 0),
                .panels = {},
                .width = 1100,
                .height = height_of_missing};
    chart.panels.emplace_back().missing =
        std::string(
            "Nothing to draw: no settled measurement of a clean tree stands here with its "
            "prediction. ") +
        (card.left_out().dirty > 0 ? "Build from committed sources, then measure again."
                                   : "`raceline bench --receipts FILE` writes both.");
    return chart;
}

}  // namespace

// A page of a code host shows pictures some 830 pixels wide: what is wider has letters too small to
// be read there.
Chart scorecard_chart(const Scorecard& card) {
    const std::vector<ScoredRow> rows = card.scored_rows();
    if (rows.empty()) {
        return nothing_scored(card);
    }
    const Axis times = axis_of_times(rows);
    std::vector<ScoredRow> fresh;
    std::vector<ScoredRow> seen;
    for (const ScoredRow& row : rows) {
        (row.group.sight == Sight::seen ? seen : fresh).push_back(row);
    }
    Chart chart{.title = "Predictions against measurements",
                .key = "Marks in the same place are drawn once; the legend counts all of them.",
                .notes = notes_of(card, rows.size()),
                .columns = 2,
                .width = 840,
                .height = 960};
    chart.panels = {predicted_over_measured(fresh, times, rows.size(), "first sight"),
                    predicted_over_measured(seen, times, rows.size(), "seen before"),
                    errors_by_regime(card.overall_scores())};
    chart.panels.back().width = 2;  // below the others, as wide as both
    return chart;
}

}  // namespace raceline
