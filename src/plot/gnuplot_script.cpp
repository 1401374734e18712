// SPDX-License-Identifier: Apache-2.0
#include "plot/gnuplot_script.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plot/gnuplot_axis.hpp"
#include "plot/placement.hpp"
#include "plot/terminal_marks.hpp"
#include "support/check.hpp"
#include "support/text_style.hpp"

namespace raceline {
namespace {

std::string_view colour_code(Colour colour) {
    constexpr std::array<std::string_view, 8> codes{"#0072B2", "#D55E00", "#009E73", "#C46F9D",
                                                    "#6B4400", "#7733DD", "#000000", "#808080"};
    return codes.at(static_cast<std::size_t>(colour));
}

// gnuplot's number of a mark: hollow ones are even, the filled one of the same form follows.
int mark_number(Mark mark, bool filled) {
    return 2 + 2 * static_cast<int>(mark) + (filled ? 1 : 0);
}

std::string_view dash_type(Line line) {
    return line == Line::dashed        ? "2"
           : line == Line::dotted      ? "3"
           : line == Line::dash_dotted ? "4"
                                       : "1";
}

std::string_view align_word(Align align) {
    return align == Align::left ? "left" : align == Align::right ? "right" : "center";
}

std::string offset_text(const Chart& chart, const Panel& panel, const Place& place,
                        const ChartText& text) {
    const auto [right, up] = stand_off(panel, place, text);
    const double below = text.lines_below * line_height;
    return right == 0 && up == 0 && below == 0
               ? ""
               : fmt::format(" offset screen {:.5f},{:.5f}", right / chart.width,
                             (up - below) / chart.height);
}

std::string label_text(const Chart& chart, const Panel& panel, const Place& place,
                       const ChartText& text) {
    return fmt::format(
        "set label {} at {:.10g},{:.10g} {} front{}{}{} tc rgb '{}'\n", single_quoted(text.text),
        text.x, text.y, align_word(text.align),
        text.towards ? fmt::format(" rotate by {:.1f}", angle_of(panel, place, text)) : "",
        offset_text(chart, panel, place, text), text.backed ? " boxed" : "",
        colour_code(text.colour));
}

std::string line_between(std::pair<double, double> from, std::pair<double, double> to,
                         Colour colour) {
    return fmt::format(
        "set arrow from first {:.10g},{:.10g} to first {:.10g},{:.10g} nohead front lc rgb '{}' lw "
        "0.8\n",
        from.first, from.second, to.first, to.second, colour_code(colour));
}

// The line between words and what they speak of: a roof's end, at the right end of the axes, or a
// place that they had to leave.
std::string leader_text(const Panel& panel, const Place& place, const ChartText& text) {
    if (!text.led_from) {
        return "";
    }
    const auto [x, y] = *text.led_from;
    if (text.x > panel.x.high) {  // not quite to the first letter
        const double gap = std::pow(text.x / panel.x.high, 0.8);
        return line_between({x, y}, {panel.x.high * gap, text.y}, Colour::grey);
    }
    const double right = (share_of(panel.x, text.x) - share_of(panel.x, x)) * place.width;
    const double up = (share_of(panel.y, text.y) - share_of(panel.y, y)) * place.height;
    constexpr double apart = 1.5 * line_height;
    if (std::hypot(right, up) < apart) {
        return "";
    }
    // To the nearer edge of the words.
    const double half = line_share(place) / 2 * (up > 0 ? -1 : 1);
    return line_between({x, y}, {text.x, text.y * std::pow(panel.y.high / panel.y.low, half)},
                        text.colour);
}

// As many points on a line between two as show it in a terminal.
std::vector<ChartPoint> colons_of(const Series& series) {
    const ChartPoint& from = series.points.at(0);
    const ChartPoint& to = series.points.at(1);
    std::vector<ChartPoint> points;
    constexpr int parts = 64;
    for (int i = 0; i <= parts; ++i) {
        const double along = static_cast<double>(i) / parts;
        points.push_back(
            {from.x * std::pow(to.x / from.x, along), from.y * std::pow(to.y / from.y, along)});
    }
    return points;
}

// One block of numbers a series: x, y, and the ends of the interval.
std::string data_block(const std::string& name, const Series& series, bool terminal) {
    std::string text = name + " << END\n";
    for (const ChartPoint& point :
         terminal&& series.over_marks ? colons_of(series) : series.points) {
        if (!std::isfinite(point.x) || !std::isfinite(point.y)) {
            text += "\n";
        } else if (series.bars == Bars::none) {
            text += fmt::format("{:.6g} {:.6g}\n", point.x, point.y);
        } else {
            text += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g}\n", point.x, point.y, point.low,
                                point.high);
        }
    }
    return text + "END\n";
}

// Lines of a terminal are of seven letters, which repeat and hide marks: where marks say all, they
// stand alone. Bars along x are drawn before all marks.
bool only_marks(const Series& series) {
    return series.beside != Mark::none || series.bars != Bars::none;
}

std::string look_of(const Series& series, Letters* letters) {
    if (letters != nullptr && only_marks(series)) {
        return letters_look(series, *letters);
    }
    if (letters != nullptr && series.over_marks) {
        return "with points pt ':'";
    }
    const std::string_view colour = colour_code(series.colour);
    const std::string line =
        fmt::format("lc rgb '{}' lw {:.3g} dt {}", colour, series.width, dash_type(series.line));
    const std::string points =
        letters != nullptr
            ? fmt::format("pt '{}'", series.mark == Mark::none ? '.' : letters->of(series))
            : fmt::format("pt {} ps {:.2g}", mark_number(series.mark, series.filled),
                          series.size * (series.points.size() > 300 ? 0.6 : 0.9));
    if (series.bars != Bars::none) {
        return fmt::format("with {} {} {}",
                           series.bars == Bars::along_x ? "xerrorbars" : "yerrorbars", line,
                           points);
    }
    if (series.mark == Mark::none) {
        return "with lines " + line;
    }
    return fmt::format("with {} {} {}", series.line == Line::none ? "points" : "linespoints", line,
                       points);
}

// Faint lines behind the marks, which a terminal could only draw as strongly as these.
bool is_ground(const Series& series) {
    return series.mark == Mark::none && series.line == Line::dotted && series.width < 0.5;
}

// Margins, legend and titles of a picture.
std::string frame_text(const Chart& chart, const Panel& panel, const Place& place) {
    std::string text = fmt::format(
        "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset bmargin at screen "
        "{:.4f}\nset tmargin at screen {:.4f}\n"
        "set key at screen {:.4f}, screen {:.4f} center bottom vertical maxrows {} "
        "samplen 2 Left reverse\n"
        "set title {} offset screen {:.4f},{:.4f}\n",
        place.left, place.right, place.bottom, place.top, place.middle, place.legend,
        std::max<std::size_t>(1, place.entries.rows), single_quoted(panel.title), place.title_shift,
        place.title_rise);
    text += axis_text(panel.x, 'x') + axis_text(panel.y, 'y');
    if (panel.x.scale == Scale::ratio) {  // read by eye, far from the names of its ticks
        text += "set grid lc rgb '#cfcfcf' lt 1 lw 0.8\n";
    }
    for (const ChartText& label : panel.texts) {
        text += label_text(chart, panel, place, label) + leader_text(panel, place, label);
    }
    return text;
}

// A sentence below or above a drawing in a terminal, in lines as wide as it.
std::string printed(const std::string& sentence, TerminalSize size) {
    std::string text;
    for (const std::string& line : broken_lines(sentence, static_cast<std::size_t>(size.columns))) {
        text += fmt::format("print {}\n", single_quoted(line));
    }
    return text;
}

// The same in a terminal, where each cell holds one letter.
std::string cell_text(const Panel& given, TerminalSize size) {
    const TerminalLayout layout = terminal_layout(given, size);
    Panel panel = terminal_panel(given);
    panel.y.title.clear();  // gnuplot has no cells for it
    for (auto& [at, name] : panel.x.ticks) {
        name.clear();  // stands among the layout's words
    }
    for (auto& [at, name] : panel.y.ticks) {
        name = layout.names_above ? "" : name;
    }
    // Above the title of the y axis, which stands at the left in the first row above the axes.
    const std::string_view above = given.y.title.empty() ? "" : " offset character 0,1";
    std::string text;
    const auto room =
        static_cast<std::size_t>(layout.size.columns - 2 * std::max(layout.left, layout.right));
    if (letters(panel.title) > room) {  // it stands over the middle of the axes, and would be cut
        text = printed(panel.title, layout.size);
        panel.title.clear();
    }
    text += fmt::format(
        "set terminal dumb size {},{} noenhanced mono\n"
        "set lmargin {}\nset rmargin {}\nset bmargin {}\nset tmargin {}\n"
        "set key at screen 0.5, character 0 center bottom vertical maxrows {} samplen 2 Left "
        "reverse\nset title {}{}\n",
        layout.size.columns, layout.size.rows, layout.left, layout.right, layout.bottom, layout.top,
        std::max<std::size_t>(1, layout.legend.rows), single_quoted(panel.title), above);
    const int across = layout.size.columns - layout.left - layout.right;
    text += axis_text(panel.x, 'x', across) + axis_text(panel.y, 'y');
    for (const CellText& word : layout.words) {
        text += fmt::format("set label {} at character {},{} left front\n",
                            single_quoted(word.text), word.column, word.row);
    }
    return text;
}

// A sentence in the place of axes, in lines that fit them.
std::string missing_text(const Panel& panel, const Place& place) {
    std::string labels;
    const std::vector<std::string> lines = lines_of(panel.missing, place.width);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const double up = (static_cast<double>(lines.size() - 1) / 2 - static_cast<double>(i));
        labels += fmt::format("set label {} at graph 0.5,{:.4f} center front tc rgb '#000000'\n",
                              single_quoted(lines[i]), 0.5 + up * line_height / place.height);
    }
    return fmt::format(
        "unset key\nunset border\nunset tics\nset xlabel ''\nset ylabel ''\nset title {}\n"
        "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset bmargin at screen "
        "{:.4f}\nset tmargin at screen {:.4f}\n"
        "set xrange [0:1]\nset yrange [0:1]\nunset logscale x\nunset logscale y\n{}"
        "plot NaN notitle\nset border 3 lc rgb '#555555'\nset key\nset xtics nomirror\nset ytics "
        "nomirror\n",
        single_quoted(panel.title), place.left, place.right, place.bottom, place.top, labels);
}

constexpr std::string_view separator = ", \\\n     ";

// What a series is called in the legend; further lines are entries without a sample.
std::string title_text(const Series& series, std::size_t most, bool terminal) {
    if (series.title.empty()) {
        return "notitle";
    }
    const std::string_view no_sample = terminal ? "points pt ' '" : "lines lt nodraw";
    std::string text;
    for (const std::string& line : legend_lines(series.title, most)) {
        text += text.empty() ? "" : fmt::format("{}keyentry with {} ", separator, no_sample);
        text += "title " + single_quoted(line);
    }
    return text;
}

// Intervals along x in a terminal, below all marks.
std::string bars_of(const Panel& panel, std::size_t index) {
    std::string plots;
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
        if (panel.series[i].bars == Bars::along_x && is_drawn(panel.series[i])) {
            plots += fmt::format("{}$p{}s{} {} notitle", separator, index, i,
                                 bars_look(panel.series[i].bars));
        }
    }
    return plots;
}

// Letters once more, over the colons of lines that a picture draws over its marks: in a terminal
// one cell holds one sign, and a mark says more than a piece of its line.
std::string letters_over_colons(const Panel& panel, std::size_t index, Letters& letters) {
    std::string plots;
    const bool any_colons = std::ranges::any_of(
        panel.series, [](const Series& series) { return series.over_marks && is_drawn(series); });
    for (std::size_t i = 0; any_colons && i < panel.series.size(); ++i) {
        if (const Series& series = panel.series[i]; is_drawn(series) && is_marked(series)) {
            plots +=
                fmt::format("{}$p{}s{} {} notitle", separator, index, i, look_of(series, &letters));
        }
    }
    return plots;
}

std::string panel_text(const Chart& chart, std::size_t index, bool terminal, TerminalSize size) {
    const Panel panel = terminal ? terminal_panel(chart.panels[index]) : chart.panels[index];
    std::string text = "unset label\nunset arrow\n";
    if (!panel.missing.empty()) {
        return terminal ? text + printed(panel.missing, size)
                        : text + missing_text(panel, place_of(chart, index));
    }
    text += terminal ? cell_text(panel, size) : frame_text(chart, panel, place_of(chart, index));
    const std::string bars = terminal ? bars_of(panel, index) : "";
    std::string blocks;
    std::string plots;
    Letters letters;
    const std::size_t most =
        terminal ? terminal_layout(panel, size).legend.most : place_of(chart, index).entries.most;
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
        const Series& series = panel.series[i];
        if (is_drawn(series) && !(terminal && is_ground(series))) {
            const std::string name = fmt::format("$p{}s{}", index, i);
            blocks += data_block(name, series, terminal);
            const bool among_bars = !bars.empty() && series.mark == Mark::none;
            if (series.over_marks && !terminal) {
                plots += fmt::format("{}{} with lines lc rgb '#ffffff' lw {:.3g} notitle",
                                     separator, name, series.width);
            }
            plots += fmt::format("{}{} {} {}", separator, name,
                                 among_bars ? line_among_bars_look()
                                            : look_of(series, terminal ? &letters : nullptr),
                                 title_text(series, most, terminal));
        }
    }
    // gnuplot draws no axes without anything to plot.
    plots = bars + plots + (terminal ? letters_over_colons(panel, index, letters) : "");
    text +=
        blocks + "plot " + (plots.empty() ? "NaN notitle" : plots.substr(separator.size())) + "\n";
    if (terminal) {
        for (const std::string& said :
             {hidden_marks(panel, size), words_without_room(panel, size)}) {
            text += said.empty() ? "" : printed(said, size);
        }
    }
    return text;
}

std::string terminal_text(const Chart& chart, PictureForm form, TerminalSize size) {
    switch (form) {
        case PictureForm::svg:
            return fmt::format(
                "set terminal svg size {:.0f},{:.0f} dynamic font 'Arial,12' background '#ffffff' "
                "noenhanced\n",
                chart.width, chart.height);
        case PictureForm::png:
            return fmt::format(
                "set terminal pngcairo size {:.0f},{:.0f} font 'Sans,9' noenhanced\n", chart.width,
                chart.height);
        case PictureForm::pdf:
            return fmt::format(
                "set terminal pdfcairo size {:.2f}in,{:.2f}in font 'Sans,9' noenhanced\n",
                chart.width / 96, chart.height / 96);
        default:
            return fmt::format("set terminal dumb size {},{} noenhanced mono\n", size.columns,
                               size.rows);
    }
}

// Title, key and notes; in a terminal they are printed, for the drawing needs its rows.
std::string printed_heading(const Chart& chart, TerminalSize size) {
    std::string text = "set print '-'\n";
    const auto print = [&](const std::string& sentence) { text += printed(sentence, size); };
    print(chart.title);
    if (!chart.key.empty()) {
        print(chart.key + letters_key(chart));
    }
    std::ranges::for_each(chart.notes, print);
    return text;
}

std::string heading_text(const Chart& chart) {
    const Heading heading = heading_of(chart);
    double y = chart.height - 6 - line_height / 2;
    std::string text;
    for (std::size_t i = 0; i < heading.lines.size(); ++i) {
        text += fmt::format("set label {} {} at screen 0.5,{:.4f} center {}\n", 1000 + i,
                            single_quoted(heading.lines[i]), y / chart.height,
                            i < heading.title_lines ? "font ',13'" : "tc rgb '#555555'");
        y -= line_height * (i + 1 == heading.title_lines ? 1.2 : 1);
    }
    return text;
}

}  // namespace

PictureForm picture_form(std::string_view file) {
    const std::string ending = std::filesystem::path(file).extension().string();
    require(ending == ".svg" || ending == ".png" || ending == ".pdf", Status::invalid_argument,
            "{}: a picture's name ends in .svg, .png or .pdf", file);
    return ending == ".svg"   ? PictureForm::svg
           : ending == ".png" ? PictureForm::png
                              : PictureForm::pdf;
}

std::string gnuplot_script(const Chart& chart, PictureForm form, TerminalSize size) {
    const bool terminal = form == PictureForm::terminal;
    std::string text =
        "# Draws to standard output: gnuplot THIS-FILE > PICTURE\n"
        "set encoding utf8\n" +
        terminal_text(chart, form, size);
    text +=
        "set micro\nset pointintervalbox 0\nset clip two\nset tics nomirror\nset border 3 lc rgb "
        "'#555555'\n"
        "set style textbox opaque noborder margins 0.3,0.3\n"
        "set grid lc rgb '#e5e5e5' lt 1 lw 0.5\n";
    if (terminal) {
        text += "unset grid\nset errorbars 0\n";
    }
    text += terminal ? printed_heading(chart, size) : "";
    const bool many = chart.panels.size() > 1 && !terminal;
    text += many ? "set multiplot\n" : "";
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const std::string panel = panel_text(chart, i, terminal, size);
        // Labels of the heading come after the panel's `unset label`.
        const std::string_view first = "unset label\n";
        text += std::string(first) + (terminal || i > 0 ? "" : heading_text(chart)) +
                panel.substr(first.size());
    }
    return text + (many ? "unset multiplot\n" : "");
}

}  // namespace raceline
