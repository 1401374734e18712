// SPDX-License-Identifier: Apache-2.0
// Trajectory and ladder: the rungs of a track, on one shape, at first sight.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include "plot/charts.hpp"
#include "report/ladder_cases.hpp"
#include "report/ladder_tracks.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct RungStep {
    const Kernel* rung = nullptr;
    RungCase shown;
};

struct Climb {
    std::string device;
    std::vector<RungStep> steps;  // in the order of the track, those that were measured
};

const LadderTrack& track_called(std::string_view name) {
    std::vector<std::string_view> names;
    for (const LadderTrack& track : ladder_tracks()) {
        if (same_word(track.name, name)) {
            return track;
        }
        names.push_back(track.name);
    }
    fail(Status::invalid_argument, "--track {} does not exist{}", name, one_of_these(name, names));
}

std::vector<Climb> climbs_of(const LadderCases& cases, const LadderTrack& track,
                             const std::string& shape) {
    std::vector<Climb> climbs;
    for (const std::string& device : cases.devices()) {
        Climb climb{.device = device, .steps = {}};
        for (const Kernel* rung : rungs_of(track.name)) {
            const std::vector<RungCase> all = cases.of(device, *rung, track.suite);
            const RungCase* shown = shown_case(all, shape);
            if (shown != nullptr && shown->passed && shown->measured > 0) {
                climb.steps.push_back({rung, *shown});
            }
        }
        if (!climb.steps.empty()) {
            climbs.push_back(std::move(climb));
        }
    }
    return climbs;
}

// A chart's title, and what its receipts do not say.
Chart chart_of(const TimedRows& rows, const LadderTrack& track, const std::string& shape,
               const std::vector<Climb>& climbs, std::string_view what) {
    Chart chart{.title = fmt::format("{}: track {} on {}", what, track.name, shape),
                .notes = {"Hollow: predicted before the first run; filled: measured."},
                .panels = {}};
    std::size_t others = 0;
    std::size_t stale = 0;
    for (const Climb& climb : climbs) {
        for (const RungStep& step : climb.steps) {
            others += step.shown.shape != shape ? 1 : 0;
            stale += step.shown.stale ? 1 : 0;
        }
    }
    if (climbs.empty()) {
        chart.notes = {
            fmt::format("No rung of track {} was measured in these receipts.", track.name)};
        chart.height = height_of_missing;
    }
    if (others > 0) {
        chart.notes.push_back(fmt::format(
            "With *: {} of the rungs do not take this shape and stand with another one.", others));
    }
    if (stale > 0) {
        chart.notes.push_back(
            fmt::format("The code of {} has changed since these times were taken.",
                        counted_text(stale, "rung")));
    }
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    return chart;
}

// What stands in the place of axes where no rung was measured.
std::string missing_text(const Chart& chart) {
    return chart.notes.front() + " `raceline bench --kernel RUNG --receipts FILE` measures one.";
}

std::string rung_name(const RungStep& step, const std::string& shape) {
    return std::string(step.rung->name) + (step.shown.shape == shape ? "" : " *");
}

Series predicted_look(const std::string& title, std::size_t i) {
    return {.title = title + "predicted",
            .colour = nth_colour(2 * i + 1),
            .mark = Mark::circle,
            .filled = false,
            .line = Line::dashed,
            .points = {}};
}
Series measured_look(const std::string& title, std::size_t i) {
    return {.title = title + "measured",
            .colour = nth_colour(2 * i),
            .mark = Mark::circle,
            .line = Line::solid,
            .width = 1.6,
            .points = {}};
}

std::vector<const Kernel*> rungs_in(const std::vector<Climb>& climbs, std::string_view track) {
    std::set<const Kernel*> there;
    for (const Climb& climb : climbs) {
        for (const RungStep& step : climb.steps) {
            there.insert(step.rung);
        }
    }
    std::vector<const Kernel*> rungs;
    for (const Kernel* rung : rungs_of(track)) {
        if (there.contains(rung)) {
            rungs.push_back(rung);
        }
    }
    return rungs;
}

double place_of(const std::vector<const Kernel*>& rungs, const Kernel* rung) {
    return static_cast<double>(std::ranges::find(rungs, rung) - rungs.begin());
}

// The step's own speed-up over its predecessor; below the marks, in the order of reading.
void add_step_text(Panel& panel, const RungStep& step, double x, double y, Colour colour) {
    if (step.shown.speedup_measured() > 0) {
        panel.texts.push_back({.x = x,
                               .y = y,
                               .text = format_fixed(step.shown.speedup_measured(), 2) + "×",
                               .colour = colour,
                               .align = Align::centre,
                               .towards = {},
                               .backed = true,
                               .lines_below = 1.4});
        panel.texts.push_back({.x = x,
                               .y = y,
                               .text = "(" + format_fixed(step.shown.speedup_predicted(), 2) + "×)",
                               .colour = Colour::black,
                               .align = Align::centre,
                               .towards = {},
                               .backed = true,
                               .lines_below = 2.25});
    }
}

// A track on a shape, its own where none is wanted: what was measured, and a chart to be filled.
struct LadderView {
    std::string shape;
    std::vector<Climb> climbs;
    std::vector<const Kernel*> rungs;
    Chart chart;
};
LadderView chart_of(const TimedRows& rows, std::string_view name, const std::string& wanted,
                    std::string_view what) {
    const LadderTrack& track = track_called(name);
    LadderView view;
    view.shape = wanted.empty() ? std::string(track.reference) : format_shape(parse_shape(wanted));
    view.climbs = climbs_of(LadderCases(rows.rows), track, view.shape);
    view.rungs = rungs_in(view.climbs, track.name);
    view.chart = chart_of(rows, track, view.shape, view.climbs, what);
    return view;
}

}  // namespace

Chart trajectory_chart(const TimedRows& rows, std::string_view name, const std::string& wanted) {
    auto [shape, climbs, rungs, chart] = chart_of(rows, name, wanted, "How the ladder climbs");
    chart.notes.front() += climbs.empty() ? ""
                                          : " Under each rung its speed-up over the one that "
                                            "it changes, predicted in brackets.";
    Panel panel;
    panel.missing = climbs.empty() ? missing_text(chart) : "";
    panel.left_margin = 96;
    panel.y = {.title = "speed over the first rung",
               .scale = Scale::ratio,
               .logarithmic = true,
               .ticks = {}};
    panel.x = {.title = {},
               .low = -0.6,
               .high = std::max(1.0, static_cast<double>(rungs.size())) - 0.4,
               .ticks = {}};
    panel.x.upright = true;
    std::vector<double> speeds;
    for (std::size_t i = 0; i < climbs.size(); ++i) {
        const std::string of = climbs.size() > 1 ? climbs[i].device + ", " : "";
        Series predicted = predicted_look(of, i);
        Series measured = measured_look(of, i);
        const double base = climbs[i].steps.front().shown.measured;
        for (const RungStep& step : climbs[i].steps) {
            const double x = place_of(rungs, step.rung);
            measured.points.push_back({x, base / step.shown.measured});
            predicted.points.push_back({x, base / step.shown.predicted});
            speeds.insert(speeds.end(), {base / step.shown.measured, base / step.shown.predicted});
        }
        panel.series.push_back(std::move(predicted));
        panel.series.push_back(std::move(measured));
    }
    fit(panel.y, speeds, 0.1);
    panel.y.low /= std::pow(panel.y.high / panel.y.low, 0.06);
    for (std::size_t i = 0; i < climbs.size(); ++i) {
        const double base = climbs[i].steps.front().shown.measured;
        for (const RungStep& step : climbs[i].steps) {
            add_step_text(panel, step, place_of(rungs, step.rung),
                          base / std::max(step.shown.measured, step.shown.predicted),
                          nth_colour(2 * i));
        }
    }
    for (const Kernel* rung : rungs) {
        panel.x.ticks.emplace_back(
            place_of(rungs, rung),
            rung_name(*std::ranges::find(climbs.front().steps, rung, &RungStep::rung), shape));
    }
    chart.panels.push_back(std::move(panel));
    return chart;
}

Chart ladder_chart(const TimedRows& rows, std::string_view name, const std::string& wanted) {
    auto [shape, climbs, rungs, chart] = chart_of(rows, name, wanted, "Time of each rung");
    Panel panel;
    panel.missing = climbs.empty() ? missing_text(chart) : "";
    panel.left_margin = 150;
    panel.right_margin = 100;
    panel.x = {.title = "time", .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    panel.y = {.title = {},
               .low = 0.4 - std::max(1.0, static_cast<double>(rungs.size())),
               .high = 0.6,
               .ticks = {}};
    std::vector<double> times;
    for (std::size_t i = 0; i < climbs.size(); ++i) {
        const std::string of = climbs.size() > 1 ? climbs[i].device + ", " : "";
        Series predicted = predicted_look(of, i);
        Series measured = measured_look(of, i);
        Series join{.title = {}, .colour = nth_colour(2 * i), .line = Line::solid, .points = {}};
        predicted.line = measured.line = Line::none;
        for (const RungStep& step : climbs[i].steps) {
            const double y = -place_of(rungs, step.rung);
            measured.points.push_back({step.shown.measured, y});
            predicted.points.push_back({step.shown.predicted, y});
            join.points.insert(join.points.end(),
                               {{step.shown.predicted, y}, {step.shown.measured, y}, {NAN, NAN}});
            times.insert(times.end(), {step.shown.measured, step.shown.predicted});
        }
        panel.series.insert(panel.series.end(),
                            {std::move(join), std::move(predicted), std::move(measured)});
    }
    fit(panel.x, times);
    for (std::size_t i = 0; i < rungs.size(); ++i) {
        const auto step = std::ranges::find(climbs.front().steps, rungs[i], &RungStep::rung);
        panel.y.ticks.emplace_back(-static_cast<double>(i), step == climbs.front().steps.end()
                                                                ? std::string(rungs[i]->name)
                                                                : rung_name(*step, shape));
        if (climbs.size() == 1) {
            panel.texts.push_back({.x = panel.x.high * 1.03,
                                   .y = -static_cast<double>(i),
                                   .text = format_seconds(step->shown.measured),
                                   .colour = nth_colour(0),
                                   .align = Align::left,
                                   .towards = {}});
        }
    }
    chart.height = std::max(360.0, 190 + 24 * static_cast<double>(rungs.size()));
    chart.panels.push_back(std::move(panel));
    return chart;
}

}  // namespace raceline
