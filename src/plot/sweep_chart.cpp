// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "plot/charts.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "support/words.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Field {
    std::string_view name;
    std::int64_t Workload::* member;
};
constexpr std::array own_fields{
    Field{"seqlen_q", &Workload::seqlen_q},  Field{"seqlen_k", &Workload::seqlen_k},
    Field{"batch", &Workload::batch},        Field{"heads_q", &Workload::heads_q},
    Field{"heads_kv", &Workload::heads_kv},  Field{"headdim", &Workload::headdim},
    Field{"page_size", &Workload::page_size}};

// Fields of a prefill that move together: both lengths, and these with a batch that keeps the
// number of tokens.
constexpr std::string_view both_lengths = "length";
constexpr std::string_view same_tokens = "length-of-same-tokens";

bool is_field(std::string_view name) {
    return std::ranges::count(sweep_fields(), name) > 0;
}

double value_of(const Workload& w, std::string_view field) {
    if (field == both_lengths || field == same_tokens) {
        return static_cast<double>(w.seqlen_k);
    }
    return static_cast<double>(w.*(std::ranges::find(own_fields, field, &Field::name)->member));
}

// The workload with the field taken out; nothing where it does not have it.
std::optional<Workload> without(Workload w, std::string_view field) {
    if (w.ragged() || !w.is_attention()) {
        return std::nullopt;
    }
    if (field == both_lengths || field == same_tokens) {
        if (w.seqlen_q != w.seqlen_k) {
            return std::nullopt;
        }
        w.batch *= field == same_tokens ? w.seqlen_q : 1;
        w.seqlen_q = w.seqlen_k = 0;
    } else {
        w.*(std::ranges::find(own_fields, field, &Field::name)->member) = 0;
    }
    return w;
}

struct LineKey {
    std::string device, kernel, tile, rest;
    auto operator<=>(const LineKey&) const = default;
};
// Cases by the field's value, of each the last one measured.
using SweepLine = std::map<double, const TimedCase*>;
using SweepLines = std::map<LineKey, SweepLine>;

// Whether a kernel ran a case with several tiles, which then are lines of their own; where it ran
// with one, its tile may change along the line.
using Ran = std::map<std::string, std::set<std::string>>;  // tiles, by device, kernel and shape

Ran tiles_of(const TimedRows& rows) {
    Ran ran;
    for (const TimedCase& one : rows.cases) {
        ran[one.device + "\n" + one.kernel + "\n" + one.shape].insert(tile_fields(one.about.tile));
    }
    return ran;
}

// Lines of at least three values.
SweepLines lines_over(const TimedRows& rows, std::string_view field) {
    const Ran ran = tiles_of(rows);
    SweepLines lines;
    for (const TimedCase& one : rows.cases) {
        if (const auto rest = without(one.workload, field)) {
            const bool several =
                ran.at(one.device + "\n" + one.kernel + "\n" + one.shape).size() > 1;
            const LineKey key{one.device, one.kernel,
                              several ? tile_fields(one.about.tile) : std::string(),
                              format_shape(*rest)};
            lines[key][value_of(one.workload, field)] = &one;
        }
    }
    std::erase_if(lines, [](const auto& line) { return line.second.size() < 3; });
    return lines;
}

std::string field_of(const TimedRows& rows, const std::string& wanted) {
    const std::vector<std::string_view> known = sweep_fields();
    const std::string_view same = same_among(wanted, known);
    const std::string asked = same.empty() ? wanted : std::string(same);
    std::string best{both_lengths};
    std::size_t most = 0;
    for (const std::string_view name : known) {
        std::size_t cases = 0;
        for (const auto& [key, line] : lines_over(rows, name)) {
            cases += line.size();
        }
        if (cases > most) {
            most = cases;
            best = name;
        }
    }
    require(asked.empty() || is_field(asked), Status::invalid_argument,
            "--over {}: a sweep runs over no such field{}", asked, one_of_these(asked, known));
    return asked.empty() ? best : asked;
}

// Of a shape what not all lines have.
std::string own_words(const std::string& shape, const SweepLines& all) {
    std::string own;
    for (const std::string& word : words_of(shape)) {
        const bool shared = std::ranges::all_of(all, [&](const auto& line) {
            return std::ranges::count(words_of(line.first.rest), word) > 0;
        });
        own += shared ? "" : (own.empty() ? "" : ",") + word;
    }
    return own;
}

// What tells a line from the others.
std::string line_title(const LineKey& key, const SweepLines& all) {
    const bool devices =
        std::ranges::any_of(all, [&](const auto& line) { return line.first.device != key.device; });
    const std::string rest = own_words(key.rest, all);
    return key.kernel + (key.tile.empty() ? "" : " " + key.tile) +
           (devices ? " on " + key.device : "") + (rest.empty() ? "" : " " + rest);
}

// Those with most cases, as many as can be told apart.
constexpr std::size_t most_lines = 12;

SweepLines longest_of(const SweepLines& lines) {
    std::vector<SweepLines::const_iterator> order;
    for (auto line = lines.cbegin(); line != lines.cend(); ++line) {
        order.push_back(line);
    }
    std::ranges::sort(order, [](const auto& x, const auto& y) {
        return std::tuple(y->second.size(), x->first) < std::tuple(x->second.size(), y->first);
    });
    order.resize(std::min(most_lines, order.size()));
    SweepLines longest;
    for (const auto& line : order) {
        longest.insert(*line);
    }
    return longest;
}

// A dashed line of predictions, and marks with intervals of what was measured.
void add_line(Panel& panel, const std::string& title, const SweepLine& line, std::size_t i) {
    Series predicted{.title = {}, .colour = nth_colour(i), .line = Line::dashed, .points = {}};
    Series measured{.title = title,
                    .colour = nth_colour(i),
                    .mark = nth_mark(i),
                    .bars = Bars::along_y,
                    .points = {}};
    for (const auto& [value, one] : line) {
        const Measurement& m = one->measured;
        measured.points.push_back({value, m.seconds_median, m.seconds_low, m.seconds_high});
        if (one->predicted) {
            predicted.points.push_back({value, one->predicted->seconds});
        }
    }
    panel.series.push_back(std::move(predicted));
    panel.series.push_back(std::move(measured));
}

// A length or a number of heads, with all its digits as far as these are read.
std::string format_tick(double tick) {
    return tick < 1e10 ? fmt::format("{:.0f}", tick) : fmt::format("{:.3g}", tick);
}

// Axes that show all points; with few values each has its tick.
void fit_axes_of_sweep(Panel& panel) {
    std::vector<double> values;
    std::vector<double> times;
    for (const Series& series : panel.series) {
        for (const ChartPoint& point : series.points) {
            values.push_back(point.x);
            times.push_back(point.y);
        }
    }
    fit(panel.x, values);
    fit(panel.y, times);
    constexpr std::size_t most_ticks = 16;
    const std::set<double> ticks(values.begin(), values.end());
    for (const double tick : ticks.size() <= most_ticks ? ticks : std::set<double>{}) {
        panel.x.ticks.emplace_back(tick, format_tick(tick));
    }
}

}  // namespace

std::vector<std::string_view> sweep_fields() {
    std::vector<std::string_view> names{both_lengths, same_tokens};
    for (const Field& field : own_fields) {
        names.push_back(field.name);
    }
    return names;
}

Chart sweep_chart(const TimedRows& rows, const std::string& asked) {
    const std::string field = field_of(rows, asked);
    const SweepLines all = lines_over(rows, field);
    const SweepLines shown = longest_of(all);
    Chart chart{.title = fmt::format("Time over {}", field),
                .notes = {"Dashed: predicted before the run; marks: measured."},
                .panels = {}};
    if (all.empty()) {
        chart.notes = {fmt::format("No three cases of these receipts differ in {} alone.", field)};
        chart.height = height_of_missing;
    } else if (all.size() > shown.size()) {
        chart.notes.push_back(fmt::format("{} of {} lines are drawn, those with most cases.",
                                          shown.size(), all.size()));
    }
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    Panel panel;
    panel.missing = all.empty()
                        ? "Nothing to draw: " + chart.notes.front() + " --over names another field."
                        : "";
    panel.x = {.title = field, .logarithmic = true, .ticks = {}};
    panel.y = {.title = {}, .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    std::size_t i = 0;
    for (const auto& [key, line] : shown) {
        add_line(panel, line_title(key, shown), line, i++);
    }
    fit_axes_of_sweep(panel);
    chart.panels.push_back(std::move(panel));
    return chart;
}

}  // namespace raceline
