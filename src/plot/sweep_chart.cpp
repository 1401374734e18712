// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "plot/sweep_lines.hpp"
#include "support/text_table.hpp"
#include "support/words.hpp"

namespace raceline {
namespace {

// Whether all lines have a word of their shape or of their tile.
bool all_have(const std::string& word, const SweepLines& all, std::string SweepKey::* member) {
    return std::ranges::all_of(all, [&](const auto& line) {
        return std::ranges::count(words_of(line.first.*member), word) > 0;
    });
}

// Of the shape or the tile of a line the words that all lines have, or those that not all have.
std::string some_words(const SweepKey& key, const SweepLines& all, std::string SweepKey::* member,
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
    return lines.empty() ? "" : some_words(lines.begin()->first, lines, &SweepKey::tile, true);
}

// What tells a line from all others of the picture, and its shape from those over the same field.
std::string line_title(const SweepKey& key, const SweepLines& all, const SweepLines& over_field) {
    const auto differs = [&](std::string SweepKey::* member) {
        return std::ranges::any_of(
            all, [&](const auto& line) { return line.first.*member != key.*member; });
    };
    const std::string tile = some_words(key, all, &SweepKey::tile, false);
    const std::string rest = some_words(key, over_field, &SweepKey::rest, false);
    return key.kernel + (tile.empty() ? "" : " " + tile) +
           (differs(&SweepKey::device) ? " on " + key.device : "") +
           (rest.empty() ? "" : " " + rest) +
           (differs(&SweepKey::commit) ? " at " + key.commit.substr(0, 8) : "") +
           (differs(&SweepKey::way) ? ", " + key.way : "");
}

// " on h200" where all lines are of one device, and none of them names it.
std::string shared_device(const SweepLines& lines) {
    std::set<std::string> devices;
    for (const auto& [key, line] : lines) {
        devices.insert(key.device);
    }
    return devices.size() == 1 ? " on " + *devices.begin() : "";
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
    const std::vector<double> values = coordinates(panel, &ChartPoint::x);
    fit(panel.x, values);
    fit(panel.y, coordinates(panel, &ChartPoint::y));
    constexpr std::size_t most_ticks = 16;
    const std::set<double> ticks(values.begin(), values.end());
    for (const double tick : ticks.size() <= most_ticks ? ticks : std::set<double>{}) {
        panel.x.ticks.emplace_back(tick, format_tick(tick));
    }
}

// What one panel shows.
struct Piece {
    std::string field;
    SweepLines lines;
};

std::vector<Piece> pieces_over(const std::string& field, const SweepLines& all, Shown shown) {
    std::vector<Piece> pieces;
    if (shown == Shown::most_useful) {
        pieces.push_back({field, most_useful_lines(all)});
        return pieces;
    }
    for (SweepLines& lines : pieces_of(all)) {
        pieces.push_back({field, std::move(lines)});
    }
    return pieces;
}

// Kernels of lines, as far as a title has room.
std::string kernels_text(const SweepLines& lines) {
    constexpr std::size_t most = 4;
    std::vector<std::string> names;
    for (const auto& [key, line] : lines) {
        if (std::ranges::count(names, key.kernel) == 0) {
            names.push_back(key.kernel);
        }
    }
    const std::size_t more = names.size() > most ? names.size() - most + 1 : 0;
    names.resize(names.size() - more);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       more > 0 ? fmt::format(" and {} more", more) : "");
}

// Panels that say the same are numbered.
void number_titles(Chart& chart) {
    std::map<std::string, std::size_t> count;
    for (const Panel& panel : chart.panels) {
        ++count[panel.title];
    }
    std::map<std::string, std::size_t> seen;
    for (Panel& panel : chart.panels) {
        const std::string title = panel.title;
        if (count.at(title) > 1) {
            panel.title += fmt::format(", {} of {}", ++seen[title], count.at(title));
        }
    }
}

// Lines of several panels.
SweepLines lines_of(const std::vector<Piece>& pieces, std::string_view field = {}) {
    SweepLines lines;
    for (const Piece& piece : pieces) {
        if (field.empty() || piece.field == field) {
            lines.insert(piece.lines.begin(), piece.lines.end());
        }
    }
    return lines;
}

Panel panel_of(const Piece& piece, const std::vector<Piece>& all) {
    Panel panel;
    panel.title = all.size() > 1
                      ? kernels_text(piece.lines) + " over " + std::string(words_for(piece.field))
                      : "";
    panel.x = {.title = std::string(words_for(piece.field)), .logarithmic = true, .ticks = {}};
    panel.y = {.title = {}, .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    const SweepLines whole = lines_of(all);
    const SweepLines over_field = lines_of(all, piece.field);
    std::size_t i = 0;
    for (const auto& [key, line] : piece.lines) {
        add_line(panel, line_title(key, whole, over_field), line, i++);
    }
    fit_axes_of_sweep(panel);
    return panel;
}

// What is not drawn of all lines over the fields, and how it was chosen.
std::string left_out_note(const std::vector<SweepLines>& all, const std::vector<Piece>& pieces) {
    std::size_t lines = 0;
    std::size_t drawn = 0;
    std::size_t older = 0;
    std::set<std::string> kernels;
    std::set<std::string> shown;
    for (const Piece& piece : pieces) {
        drawn += piece.lines.size();
        for (const auto& [key, line] : piece.lines) {
            shown.insert(key.kernel);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        lines += all[i].size();
        const auto same = [](SweepKey key) {
            key.commit = key.way = "";
            return key;
        };
        std::set<SweepKey> cases;
        for (const auto& [key, line] : pieces[i].lines) {
            cases.insert(same(key));
        }
        for (const auto& [key, line] : all[i]) {
            if (!pieces[i].lines.contains(key)) {
                older += cases.contains(same(key)) ? 1 : 0;
                kernels.insert(key.kernel);
            }
        }
    }
    if (drawn == lines) {
        return "";
    }
    std::erase_if(kernels, [&](const std::string& kernel) { return shown.contains(kernel); });
    return fmt::format(
        "{} of {} lines are drawn: the newest of a kernel and case, kernels of the API in turn "
        "before others, the fastest of each case first. Left out: {} at another commit or run in "
        "another way, {} of other cases{}. --all draws them too.",
        drawn, lines, older, lines - drawn - older,
        kernels.empty() ? "" : fmt::format(", and all of {}", fmt::join(kernels, ", ")));
}

std::string elsewhere_note(const TimedRows& rows, const std::vector<std::string>& fields) {
    std::map<std::string, std::vector<std::string>> by_field;
    for (const auto& [kernel, field] : kernels_elsewhere(rows, fields)) {
        by_field[field].push_back(kernel);
    }
    std::vector<std::string> said;
    said.reserve(by_field.size());
    for (const auto& [field, kernels] : by_field) {
        said.push_back(fmt::format("{} (--over {})", fmt::join(kernels, ", "), field));
    }
    return said.empty() ? ""
                        : fmt::format("Kernels of the API with lines over another field alone: {}.",
                                      fmt::join(said, "; "));
}

Chart nothing_to_draw(const TimedRows& rows, const std::string& field, const std::string& asked) {
    const std::string_view over = asked.empty() ? "a field" : words_for(field);
    Chart chart{.title = fmt::format("Time over {}", over), .notes = {nothing_over(rows, field)}};
    chart.height = height_of_missing;
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    Panel panel;
    panel.missing = "Nothing to draw: " + chart.notes.front();
    chart.panels.push_back(std::move(panel));
    return chart;
}

void add_notes(Chart& chart, const std::vector<std::string>& notes) {
    std::ranges::copy_if(notes, std::back_inserter(chart.notes),
                         [](const std::string& note) { return !note.empty(); });
}

}  // namespace

Chart sweep_chart(const TimedRows& rows, const std::string& asked, Shown shown) {
    std::vector<std::string> fields{field_of(rows, asked)};
    if (lines_over(rows, fields.front()).empty()) {
        return nothing_to_draw(rows, fields.front(), asked);
    }
    if (asked.empty()) {
        const std::vector<std::string> further = further_fields(rows, fields.front());
        fields.insert(fields.end(), further.begin(), further.end());
    }
    std::vector<SweepLines> all;
    std::vector<Piece> pieces;
    for (const std::string& field : fields) {
        all.push_back(lines_over(rows, field));
        std::ranges::move(pieces_over(field, all.back(), shown), std::back_inserter(pieces));
    }
    const SweepLines whole = lines_of(pieces);
    std::size_t most = 0;
    for (const Piece& piece : pieces) {
        most = std::max(most, piece.lines.size());
    }
    Chart chart{.title = fmt::format("Time over {}{}",
                                     fields.size() == 1 ? words_for(fields.front()) : "one field",
                                     shared_device(whole)),
                .key = "Broken lines: predicted before the run; marks: measured."};
    if (nth_dash(most - 1) != nth_dash(0)) {
        chart.key +=
            " Where a colour returns, its line has other dashes and its mark another form.";
    }
    const std::string tile = shared_tile(whole);
    add_notes(chart,
              {shown == Shown::all ? "" : left_out_note(all, pieces), elsewhere_note(rows, fields),
               tile.empty() ? "" : "The tile of every line has " + tile + "."});
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    for (const Piece& piece : pieces) {
        chart.panels.push_back(panel_of(piece, pieces));
    }
    number_titles(chart);
    chart.columns = 1;
    give_axes_room(chart, 600, 360);  // however many lines the legend has
    return chart;
}

}  // namespace raceline
