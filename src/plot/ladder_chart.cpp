// SPDX-License-Identifier: Apache-2.0
// Trajectory and ladder: the rungs of a track, on one shape, at first sight.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plot/charts.hpp"
#include "plot/placement.hpp"
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

// The shape that a chart is of: the wanted one if any rung was measured on it, else the one that
// all were measured on; empty where each has its own.
std::string common_shape(const std::vector<Climb>& climbs, const std::string& wanted) {
    std::set<std::string> shapes;
    for (const Climb& climb : climbs) {
        for (const RungStep& step : climb.steps) {
            shapes.insert(step.shown.shape);
        }
    }
    return shapes.contains(wanted) || shapes.empty() ? wanted
           : shapes.size() == 1                      ? *shapes.begin()
                                                     : std::string();
}

// "b=1,h=2 (naive, tiled); b=2,h=2 (online)": the shapes of rungs that do not stand on `common`.
std::string other_shapes(const std::vector<Climb>& climbs, const std::string& common) {
    std::map<std::string, std::vector<std::string_view>> rungs;  // by shape
    for (const Climb& climb : climbs) {
        for (const RungStep& step : climb.steps) {
            auto& names = rungs[step.shown.shape];
            if (step.shown.shape != common && !std::ranges::count(names, step.rung->name)) {
                names.push_back(step.rung->name);
            }
        }
    }
    std::string text;
    for (const auto& [shape, names] : rungs) {
        if (shape != common) {
            text +=
                fmt::format("{}{} ({})", text.empty() ? "" : "; ", shape, fmt::join(names, ", "));
        }
    }
    return text;
}

// "No rung of track prefill was measured in these receipts; of decode some were: --track decode."
std::string no_rung_text(const TimedRows& rows, const LadderTrack& track) {
    std::vector<std::string_view> others;
    for (const LadderTrack& other : ladder_tracks()) {
        const std::vector<const Kernel*> rungs = rungs_of(other.name);
        if (other.name != track.name && std::ranges::any_of(rows.cases, [&](const TimedCase& one) {
                return std::ranges::any_of(
                    rungs, [&](const Kernel* rung) { return rung->name == one.kernel; });
            })) {
            others.push_back(other.name);
        }
    }
    return fmt::format("No rung of track {} was measured in these receipts{}.", track.name,
                       others.empty() ? ""
                                      : fmt::format("; of {} some were: --track {}",
                                                    fmt::join(others, " and "), others.front()));
}

// Those of the receipts. Where rungs that are drawn are stale, a sentence says how many, and none
// counts the stale rows of all files beside it.
void add_notes(Chart& chart, const std::vector<std::string>& of_receipts, std::size_t stale) {
    if (stale > 0) {
        chart.notes.push_back(
            fmt::format("The code of {} has changed since these times were taken.",
                        counted_text(stale, "rung")));
    }
    std::ranges::copy_if(of_receipts, std::back_inserter(chart.notes), [&](std::string_view note) {
        return stale == 0 || !note.ends_with(stale_note);
    });
}

// A chart's title, and what its receipts do not say.
Chart chart_of(const TimedRows& rows, const LadderTrack& track, const std::string& wanted,
               const std::string& common, const std::vector<Climb>& climbs, std::string_view what) {
    Chart chart{
        .title = fmt::format("{}: track {}{}{}", what, track.name,
                             common.empty() ? ", each rung on a shape of its own" : " on ", common),
        .key = "Hollow: predicted before the first run; filled: measured."};
    std::size_t stale = 0;
    for (const Climb& climb : climbs) {
        stale += static_cast<std::size_t>(std::ranges::count_if(
            climb.steps, [](const RungStep& step) { return step.shown.stale; }));
    }
    if (climbs.empty()) {
        chart.key.clear();
        chart.notes = {no_rung_text(rows, track)};
        chart.height = height_of_missing;
    } else if (common != wanted) {
        chart.notes.push_back(
            fmt::format("No rung of these receipts was measured on {}; drawn is {}.", wanted,
                        common.empty() ? "each on the shape that it was measured on" : common));
    }
    if (const std::string others = other_shapes(climbs, common); !others.empty()) {
        chart.notes.push_back(fmt::format(
            "With *: rungs that these receipts have on another shape only: {}.", others));
    }
    add_notes(chart, rows.notes, stale);
    return chart;
}

// What stands in the place of axes where no rung was measured.
std::string missing_text(const Chart& chart) {
    return chart.notes.front() + " `raceline bench --kernel RUNG --receipts FILE` measures one.";
}

// With a star where the rung stands on another shape than the chart.
std::string rung_name(const RungStep& step, const std::string& common) {
    return std::string(step.rung->name) + (step.shown.shape == common ? "" : " *");
}

Series predicted_look() {
    return {.title = "predicted",
            .colour = nth_colour(1),
            .mark = Mark::circle,
            .filled = false,
            .line = Line::dashed,
            .points = {}};
}
Series measured_look() {
    return {.title = "measured",
            .colour = nth_colour(0),
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

double place_in(const std::vector<const Kernel*>& rungs, const Kernel* rung) {
    return static_cast<double>(std::ranges::find(rungs, rung) - rungs.begin());
}

// The step's own speed-up over its predecessor; below the marks, in the order of reading.
void add_step_text(Panel& panel, const RungStep& step, double x, double y) {
    if (step.shown.speedup_measured() > 0) {
        panel.texts.push_back({.x = x,
                               .y = y,
                               .text = format_fixed(step.shown.speedup_measured(), 2) + "×",
                               .colour = nth_colour(0),
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

// Whether a line of the panel runs through the box.
bool is_crossed(const Panel& panel, const Place& place, const Box& box) {
    return std::ranges::any_of(panel.series, [&](const Series& series) {
        for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
            Series piece;
            piece.points = {series.points[i], series.points[i + 1]};
            if (overlap(box, box_of_line(panel, place, piece, 2))) {
                return true;
            }
        }
        return false;
    });
}

// Whether words stand there on no line and on no other words; those of one rung stand below each
// other, a line apart.
bool has_room(const Panel& panel, const Place& place, const ChartText& text, double rung) {
    const Box box = box_of(panel, place, text);
    return !is_crossed(panel, place, box) &&
           std::ranges::none_of(panel.texts, [&](const ChartText& other) {
               return other.x != rung && overlap(box, box_of(panel, place, other));
           });
}

// Moves the words of each rung to the side as little as lets them stand beside the lines.
void move_off_lines(Panel& panel, const Place& place) {
    constexpr double step = 4, most = 60;  // pixels
    const double pixel = (panel.x.high - panel.x.low) / place.width;
    for (const auto& [rung, name] : panel.x.ticks) {
        std::vector<ChartText*> words;
        for (ChartText& text : panel.texts) {
            if (text.x == rung) {
                words.push_back(&text);
            }
        }
        const auto fits_at = [&, at = rung](double shift) {
            return std::ranges::all_of(words, [&](const ChartText* text) {
                ChartText moved = *text;
                moved.x = at + shift * pixel;
                return has_room(panel, place, moved, at);
            });
        };
        double shift = 0;
        while (std::abs(shift) <= most && !fits_at(shift)) {
            shift = shift > 0 ? -shift : step - shift;
        }
        for (ChartText* text : words) {
            text->x += std::abs(shift) <= most ? shift * pixel : 0;
        }
    }
}

// A track on a shape, its own where none is wanted: what was measured, and a chart to be filled.
struct LadderView {
    std::string shape;  // empty: each rung has its own
    std::vector<Climb> climbs;
    std::vector<const Kernel*> rungs;
    Chart chart;
};
LadderView view_of(const TimedRows& rows, std::string_view name, const std::string& wanted,
                   std::string_view what) {
    const LadderTrack& track = track_called(name);
    const std::string asked =
        wanted.empty() ? std::string(track.reference) : format_shape(parse_shape(wanted));
    LadderView view;
    view.climbs = climbs_of(LadderCases(rows.rows), track, asked);
    view.shape = common_shape(view.climbs, asked);
    view.rungs = rungs_in(view.climbs, track.name);
    view.chart = chart_of(rows, track, asked, view.shape, view.climbs, what);
    return view;
}

// Times of a rung's first run over those of the others, as the axis of all panels needs them.
std::vector<double> speeds_of(const std::vector<Climb>& climbs) {
    std::vector<double> speeds;
    for (const Climb& climb : climbs) {
        const double base = climb.steps.front().shown.measured;
        for (const RungStep& step : climb.steps) {
            speeds.insert(speeds.end(), {base / step.shown.measured, base / step.shown.predicted});
        }
    }
    return speeds;
}

Panel climbing_panel(const LadderView& view, const Climb& climb) {
    Panel panel;
    panel.title = "on " + climb.device;
    panel.left_margin = 96;
    panel.y = {.title = "speed over the first rung",
               .scale = Scale::ratio,
               .logarithmic = true,
               .ticks = {}};
    fit(panel.y, speeds_of(view.climbs), 0.1);
    panel.y.low /= std::pow(panel.y.high / panel.y.low, 0.06);
    panel.x = {.title = {},
               .low = -0.6,
               .high = static_cast<double>(view.rungs.size()) - 0.4,
               .ticks = {}};
    panel.x.upright = true;
    Series predicted = predicted_look();
    Series measured = measured_look();
    const double base = climb.steps.front().shown.measured;
    for (const RungStep& step : climb.steps) {
        const double x = place_in(view.rungs, step.rung);
        measured.points.push_back({x, base / step.shown.measured});
        predicted.points.push_back({x, base / step.shown.predicted});
        add_step_text(panel, step, x, base / std::max(step.shown.measured, step.shown.predicted));
        panel.x.ticks.emplace_back(x, rung_name(step, view.shape));
    }
    panel.series = {std::move(predicted), std::move(measured)};
    return panel;
}

Panel panel_of_times(const LadderView& view, const Climb& climb) {
    Panel panel;
    panel.title = "on " + climb.device;
    panel.left_margin = 150;
    panel.right_margin = 100;
    panel.x = {.title = "time", .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    std::vector<double> times;
    for (const Climb& one : view.climbs) {
        for (const RungStep& step : one.steps) {
            times.insert(times.end(), {step.shown.measured, step.shown.predicted});
        }
    }
    fit(panel.x, times);
    panel.y = {.title = {},
               .low = 0.4 - static_cast<double>(climb.steps.size()),
               .high = 0.6,
               .ticks = {}};
    Series predicted = predicted_look();
    Series measured = measured_look();
    Series join{.title = {}, .colour = nth_colour(0), .line = Line::solid, .points = {}};
    predicted.line = measured.line = Line::none;
    double y = 0;
    for (const RungStep& step : climb.steps) {
        measured.points.push_back({step.shown.measured, y});
        predicted.points.push_back({step.shown.predicted, y});
        join.points.insert(join.points.end(),
                           {{step.shown.predicted, y}, {step.shown.measured, y}, {NAN, NAN}});
        panel.y.ticks.emplace_back(y, rung_name(step, view.shape));
        panel.texts.push_back({.x = panel.x.high * 1.03,
                               .y = y,
                               .text = format_seconds(step.shown.measured),
                               .colour = nth_colour(0),
                               .align = Align::left,
                               .towards = {}});
        y -= 1;
    }
    panel.series = {std::move(join), std::move(predicted), std::move(measured)};
    panel.height = 24 * static_cast<double>(climb.steps.size()) + 110;
    return panel;
}

/// The view's chart with a panel for each climb, one below the other, or with one that says what is
/// missing.
Chart chart_of_climbs(const LadderView& view,
                      Panel (&panel_of)(const LadderView& view, const Climb& climb)) {
    Chart chart = view.chart;
    if (view.climbs.empty()) {
        Panel panel;
        panel.missing = missing_text(chart);
        chart.panels.push_back(std::move(panel));
        return chart;
    }
    for (const Climb& climb : view.climbs) {
        chart.panels.push_back(panel_of(view, climb));
    }
    chart.columns = 1;
    return chart;
}

}  // namespace

Chart trajectory_chart(const TimedRows& rows, std::string_view name, const std::string& wanted) {
    const LadderView view = view_of(rows, name, wanted, "How the ladder climbs");
    Chart chart = chart_of_climbs(view, climbing_panel);
    if (!view.climbs.empty()) {
        chart.key +=
            " Under each rung its speed-up over the one that it changes, predicted in brackets.";
        // Words stand below marks: axes have to be high.
        give_axes_room(chart, 600, 420);
        for (std::size_t i = 0; i < chart.panels.size(); ++i) {
            move_off_lines(chart.panels[i], place_of(chart, i));
        }
    }
    return chart;
}

Chart ladder_chart(const TimedRows& rows, std::string_view name, const std::string& wanted) {
    const LadderView view = view_of(rows, name, wanted, "Time of each rung");
    Chart chart = chart_of_climbs(view, panel_of_times);
    if (!view.climbs.empty()) {
        double height = 0;
        for (const Panel& panel : chart.panels) {
            height += panel.height;
        }
        chart.height = std::max(360.0, 80 + height);
    }
    return chart;
}

}  // namespace raceline
