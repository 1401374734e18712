// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "support/words.hpp"
#include "workload/operation.hpp"
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

// What a field is called in a picture.
std::string_view words_for(std::string_view field) {
    return field == same_tokens ? "length at the same number of tokens" : field;
}

// Sizes of the operations beside attention: "rows", "width", "m" and so on.
std::set<std::string_view> extent_names() {
    std::set<std::string_view> names;
    for (const OperationRecord* operation : all_operations()) {
        for (const OperationField& field : operation->fields.value) {
            if (field.kind == FieldKind::count) {
                names.insert(field.name);
            } else if (field.kind == FieldKind::grid) {
                names.insert({grid_rows, grid_width});
            }
        }
    }
    return names;
}

bool is_field(std::string_view name) {
    return std::ranges::count(sweep_fields(), name) > 0;
}

// A case of a line: where it stands on the axis, and all that its line shares with it.
struct Point {
    double value = 0;
    std::string rest;
};

// Whether a word of its shape has both sides of a matrix, as n=8192x4096.
bool is_grid(const Workload& w, std::string_view name) {
    return std::ranges::any_of(find_operation(w.op).fields.value, [&](const OperationField& field) {
        return field.kind == FieldKind::grid && field.name == name;
    });
}

// Of another operation than attention; nothing where it does not have the field.
std::optional<Point> point_of_operation(const Workload& w, std::string_view field) {
    const auto found = w.extents.find(field);
    if (found == w.extents.end()) {
        return std::nullopt;
    }
    // In the words of `--shape`; of a grid the other side stays.
    std::string rest;
    for (const std::string& word : words_of(format_shape(w))) {
        const std::string_view name = std::string_view(word).substr(0, word.find('='));
        const bool grid = field == grid_rows || field == grid_width;
        const std::string_view other = field == grid_rows ? grid_width : grid_rows;
        if (grid && is_grid(w, name)) {
            rest += fmt::format(",{}={}", other, w.extent(other));
        } else if (name != field) {
            rest += "," + word;
        }
    }
    return Point{static_cast<double>(found->second), rest.substr(1)};
}

std::optional<Point> point_of(Workload w, std::string_view field) {
    if (!w.is_attention()) {
        return point_of_operation(w, field);
    }
    if (w.ragged()) {
        return std::nullopt;
    }
    if (field == both_lengths || field == same_tokens) {
        if (w.seqlen_q != w.seqlen_k) {
            return std::nullopt;
        }
        const auto length = static_cast<double>(w.seqlen_k);
        w.batch *= field == same_tokens ? w.seqlen_q : 1;
        w.seqlen_q = w.seqlen_k = 0;
        return Point{length, format_shape(w)};
    }
    const auto* const known = std::ranges::find(own_fields, field, &Field::name);
    if (known == own_fields.end()) {
        return std::nullopt;
    }
    const std::int64_t value = std::exchange(w.*(known->member), 0);
    return Point{static_cast<double>(value), format_shape(w)};
}

// `way`: of launching, and the regime. Times of two programs, or of two ways to run one, are no
// line.
struct LineKey {
    std::string device, kernel, tile, rest, commit, way;
    auto operator<=>(const LineKey&) const = default;
};
// Cases by the field's value, of each the one measured last.
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
        const std::optional<Point> point = point_of(one.workload, field);
        if (!point) {
            continue;
        }
        const bool several = ran.at(one.device + "\n" + one.kernel + "\n" + one.shape).size() > 1;
        const LineKey key{one.device,  one.kernel, several ? tile_fields(one.about.tile) : "",
                          point->rest, one.commit, way_of(one)};
        const TimedCase*& known = lines[key][point->value];
        known = known == nullptr || known->written <= one.written ? &one : known;
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

// Fields that any case has.
std::vector<std::string_view> fields_of(const TimedRows& rows) {
    std::vector<std::string_view> fields = sweep_fields();
    std::erase_if(fields, [&](std::string_view field) {
        return std::ranges::none_of(rows.cases, [&](const TimedCase& one) {
            return point_of(one.workload, field).has_value();
        });
    });
    return fields;
}

// Why there is no line over a field; `asked` empty: over none.
std::string nothing_over(const TimedRows& rows, const std::string& asked) {
    const std::vector<std::string_view> fields = fields_of(rows);
    std::vector<std::string_view> swept = fields;
    std::erase_if(swept, [&](std::string_view field) { return lines_over(rows, field).empty(); });
    if (!swept.empty()) {
        return fmt::format(
            "No three cases of these receipts differ in {} alone, but some do in "
            "{}. --over {} draws these.",
            asked, fmt::join(swept, ", "), swept.front());
    }
    return fields.empty() ? "No three cases of these receipts differ in one field alone."
                          : fmt::format(
                                "No three cases of these receipts differ in one of their fields "
                                "alone: {}.",
                                fmt::join(fields, ", "));
}

// Whether all lines have a word of their shape or of their tile.
bool all_have(const std::string& word, const SweepLines& all, std::string LineKey::* member) {
    return std::ranges::all_of(all, [&](const auto& line) {
        return std::ranges::count(words_of(line.first.*member), word) > 0;
    });
}

// Of the shape or the tile of a line the words that all lines have, or those that not all have.
std::string some_words(const LineKey& key, const SweepLines& all, std::string LineKey::* member,
                       bool shared) {
    std::string some;
    for (const std::string& word : words_of(key.*member)) {
        some += all_have(word, all, member) != shared ? "" : (some.empty() ? "" : ",") + word;
    }
    return some;
}

// What is taken out of the titles of all lines, but for fields of the shape, of which some vary
// along them.
std::string shared_tile(const SweepLines& lines) {
    return lines.empty() ? "" : some_words(lines.begin()->first, lines, &LineKey::tile, true);
}

// What tells a line from the others.
std::string line_title(const LineKey& key, const SweepLines& all) {
    const auto differs = [&](std::string LineKey::* member) {
        return std::ranges::any_of(
            all, [&](const auto& line) { return line.first.*member != key.*member; });
    };
    const std::string tile = some_words(key, all, &LineKey::tile, false);
    const std::string rest = some_words(key, all, &LineKey::rest, false);
    return key.kernel + (tile.empty() ? "" : " " + tile) +
           (differs(&LineKey::device) ? " on " + key.device : "") +
           (rest.empty() ? "" : " " + rest) +
           (differs(&LineKey::commit) ? " at " + key.commit.substr(0, 8) : "") +
           (differs(&LineKey::way) ? ", " + key.way : "");
}

// " on h200" where all lines are of one device, and none of them names it.
std::string shared_device(const SweepLines& lines) {
    std::set<std::string> devices;
    for (const auto& [key, line] : lines) {
        devices.insert(key.device);
    }
    return devices.size() == 1 ? " on " + *devices.begin() : "";
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

// A broken line of predictions, and marks with intervals of what was measured.
void add_line(Panel& panel, const std::string& title, const SweepLine& line, std::size_t i) {
    Series predicted{.title = {},
                     .colour = nth_colour(i),
                     .line = nth_dash(i),
                     .beside = nth_mark(i),
                     .points = {}};
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
    for (const std::string_view name : extent_names()) {
        names.push_back(name);
    }
    return names;
}

Chart sweep_chart(const TimedRows& rows, const std::string& asked) {
    const std::string field = field_of(rows, asked);
    const SweepLines all = lines_over(rows, field);
    const SweepLines shown = longest_of(all);
    // Without a line there is no field that was found, but one that was asked for.
    const std::string_view over = all.empty() && asked.empty() ? "a field" : words_for(field);
    Chart chart{.title = fmt::format("Time over {}{}", over, shared_device(shown)),
                .key = "Broken lines: predicted before the run; marks: measured."};
    if (nth_dash(shown.empty() ? 0 : shown.size() - 1) != nth_dash(0)) {
        chart.key +=
            " Where a colour returns, its line has other dashes and its mark another form.";
    }
    if (all.empty()) {
        chart.key.clear();
        chart.notes = {nothing_over(rows, field)};
        chart.height = height_of_missing;
    } else if (all.size() > shown.size()) {
        chart.notes.push_back(
            fmt::format("{} of {} lines are drawn, those with most cases. Fewer "
                        "files, or --over with another field, show others.",
                        shown.size(), all.size()));
    }
    if (const std::string shared = shared_tile(shown); !shared.empty()) {
        chart.notes.push_back("The tile of every line has " + shared + ".");
    }
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    Panel panel;
    panel.missing = all.empty() ? "Nothing to draw: " + chart.notes.front() : "";
    panel.x = {.title = std::string(words_for(field)), .logarithmic = true, .ticks = {}};
    panel.y = {.title = {}, .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    std::size_t i = 0;
    for (const auto& [key, line] : shown) {
        add_line(panel, line_title(key, shown), line, i++);
    }
    fit_axes_of_sweep(panel);
    chart.panels.push_back(std::move(panel));
    if (!all.empty()) {
        give_axes_room(chart, 600, 360);  // however many lines the legend has
    }
    return chart;
}

}  // namespace raceline
