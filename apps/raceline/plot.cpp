// SPDX-License-Identifier: Apache-2.0
// `raceline plot`: receipts as pictures, in a file or in the terminal.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include "options.hpp"
#include "plot/charts.hpp"
#include "plot/gnuplot.hpp"
#include "plot/gnuplot_script.hpp"
#include "receipt/named_file.hpp"
#include "receipt_files.hpp"
#include "report/timed_rows.hpp"
#include "support/check.hpp"
#include "support/file_names.hpp"
#include "support/nearest.hpp"
#include "support/output_file.hpp"
#include "support/text_table.hpp"
#include "support/whole_file.hpp"
#include "terminal.hpp"
#include "usage.hpp"
#include "workload/shape_field.hpp"

namespace raceline::cli {
namespace {

// The first few by name: which rows a picture is of decides what it shows.
std::string named_files(const std::vector<std::string>& files) {
    constexpr std::size_t most = 4;
    const std::vector<std::string> names = short_names(files);
    std::string text;
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
        text += (i == 0 ? "" : ", ") + names[i];
    }
    return files.size() <= most ? text
                                : text + fmt::format(" and {} more files", files.size() - most);
}

Chart scorecard_of(const Options& options) {
    Scorecard card;
    for (const std::string& file : options.files) {
        card.add(file);
    }
    std::string of = "Of " + named_files(options.files) + " alone.";
    if (options.files.empty()) {
        card.add_tree("receipts");
        of = "Of all receipts: those in receipts/, and those that left the tree, as its index has "
             "them.";
    }
    Chart chart = scorecard_chart(card);
    chart.notes.insert(chart.notes.begin(), of);
    for (const Finding& finding : card.broken()) {
        chart.notes.push_back(finding_text(finding));
    }
    return chart;
}

bool has_cases(const TimedRows& rows) {
    return !rows.cases.empty();
}
bool has_peers(const TimedRows& rows) {
    return !rows.peers.empty();
}

// Fields of a shape that are words: its types, and what else is no size.
std::string words_of_shape(const std::string& shape) {
    std::string words;
    for (const std::string_view field : split_fields(shape)) {
        const std::size_t equals = field.find('=');
        const bool is_size = equals == std::string_view::npos || field.substr(0, equals) == "op" ||
                             (field[equals + 1] >= '0' && field[equals + 1] <= '9');
        words += is_size ? "" : " " + std::string(field);
    }
    return words;
}

// Only the operations that were named, each by its name in the place of its kernel's; a single one
// with its types, which tell its marks apart.
TimedRows of_operations(TimedRows rows, const Options& options) {
    const auto name_of = [](const TimedCase& one) {
        constexpr std::string_view field = "op=";
        return one.shape.starts_with(field)
                   ? one.shape.substr(field.size(), one.shape.find(',') - field.size())
                   : one.workload.op;
    };
    if (options.operations.empty()) {
        return rows;
    }
    std::set<std::string> names;
    for (const TimedCase& one : rows.cases) {
        names.insert(name_of(one));
    }
    const std::vector<std::string_view> there(names.begin(), names.end());
    for (const std::string& asked : options.operations) {
        require(names.contains(asked), Status::invalid_argument,
                "--op {}: these receipts have no settled time of it{}", asked,
                one_of_these(asked, there));
    }
    std::erase_if(rows.cases, [&](const TimedCase& one) {
        return std::ranges::count(options.operations, name_of(one)) == 0;
    });
    for (TimedCase& one : rows.cases) {
        one.kernel =
            name_of(one) + (options.operations.size() == 1 ? words_of_shape(one.shape) : "");
    }
    std::erase_if(rows.notes, [](const std::string& note) {
        return note.find(stale_note) != std::string::npos;
    });
    const auto stale =
        static_cast<std::size_t>(std::ranges::count_if(rows.cases, &TimedCase::stale));
    if (stale > 0) {
        rows.notes.push_back(fmt::format("{} {}", counted_text(stale, "row"), stale_note));
    }
    return rows;
}

// Without a file the newest run that has what a picture draws: the last one may have been
// interrupted, or disturbed from end to end, or be of another kind.
TimedRows rows_of(const Options& options, bool (*has_any)(const TimedRows&) = has_cases) {
    if (!options.files.empty()) {
        return read_timed_rows(options.files);
    }
    constexpr std::size_t most = 20;
    std::vector<std::string> files = receipts_newest_first();
    files.resize(std::min(files.size(), most));
    for (const std::string& file : files) {
        TimedRows rows;
        try {
            rows = read_timed_rows({file});
        } catch (const Error&) {
            continue;  // it was cut; if all were, the newest says so below
        }
        if (has_any(rows)) {
            rows.notes.insert(
                rows.notes.begin(),
                fmt::format("Of {}{}.", file,
                            file == files.front() ? "" : ", the newest run that has any of it"));
            return rows;
        }
    }
    return read_timed_rows({files.front()});
}

std::string shape_of(const Options& options) {
    require(options.shapes.size() <= 1, Status::invalid_argument, "plot takes one --shape, and {}",
            given_text(options.shapes.size()));
    return options.shapes.empty() ? "" : options.shapes.front();
}

std::string track_of(const Options& options) {
    return options.track.empty() ? "prefill" : options.track;
}

Shown shown_of(const Options& options) {
    return options.all ? Shown::all : Shown::most_useful;
}

struct Picture {
    std::string_view name;
    std::function<Chart(const Options&)> chart;
    bool of_ladder = false;     // takes --track and --shape
    bool over = false;          // takes --over
    bool bounded = false;       // takes --all
    bool by_operation = false;  // takes --op
};

const std::array pictures{
    Picture{
        "roofline",
        [](const Options& o) { return roofline_chart(of_operations(rows_of(o), o), shown_of(o)); },
        false, false, true, true},
    Picture{"traffic", [](const Options& o) { return traffic_chart(of_operations(rows_of(o), o)); },
            false, false, false, true},
    Picture{"trajectory",
            [](const Options& o) { return trajectory_chart(rows_of(o), track_of(o), shape_of(o)); },
            true},
    Picture{"scorecard", scorecard_of},
    Picture{"ladder",
            [](const Options& o) { return ladder_chart(rows_of(o), track_of(o), shape_of(o)); },
            true},
    Picture{"compare",
            [](const Options& o) { return compare_chart(rows_of(o, has_peers), shown_of(o)); },
            false, false, true},
    Picture{"fusion", [](const Options& o) { return fusion_chart(rows_of(o)); }},
    Picture{"sweep",
            [](const Options& o) {
                return sweep_chart(of_operations(rows_of(o), o), o.over, shown_of(o));
            },
            false, true, true, true}};

const Picture& picture_called(const std::string& name) {
    std::vector<std::string_view> names;
    std::ranges::transform(pictures, std::back_inserter(names), &Picture::name);
    require(!name.empty(), Status::invalid_argument, "plot needs a picture: one of {}",
            fmt::join(names, ", "));
    const auto* const found = std::ranges::find_if(
        pictures, [&](const Picture& picture) { return same_word(picture.name, name); });
    require(found != pictures.end(), Status::invalid_argument, "there is no picture '{}'{}", name,
            one_of_these(name, names));
    return *found;
}

// An option that changes nothing would be taken for one that did.
void require_its_options(const Picture& picture, const Options& options) {
    require(picture.of_ladder || options.shapes.empty(), Status::invalid_argument,
            "--shape {}: trajectory and ladder show one case; {} shows all of its receipts",
            fmt::join(options.shapes, " "), picture.name);
    require(picture.of_ladder || options.track.empty(), Status::invalid_argument,
            "--track {}: trajectory and ladder have a track; {} has none", options.track,
            picture.name);
    require(picture.over || options.over.empty(), Status::invalid_argument,
            "--over {}: only sweep runs over a field; {} does not", options.over, picture.name);
    require(picture.by_operation || options.operations.empty(), Status::invalid_argument,
            "--op {}: only roofline, traffic and sweep are of single operations, not {}",
            fmt::join(options.operations, " "), picture.name);
    require(picture.bounded || !options.all, Status::invalid_argument,
            "--all: only roofline, compare and sweep draw more with it, not {}", picture.name);
}

// Room is left for the line that asks for the next command.
TerminalSize terminal_size() {
    constexpr int least_rows = 12, rows_of_a_file = 32;
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    return {
        .columns = static_cast<int>(stdout_columns()),
        .rows = known ? std::max(least_rows, static_cast<int>(size.ws_row) - 4) : rows_of_a_file};
}

// gnuplot begins each drawing with a form feed, and fills lines with spaces.
std::string lines_of_terminal(const std::string& drawing) {
    std::string text;
    std::istringstream lines(drawing);
    for (std::string line; std::getline(lines, line);) {
        std::erase(line, '\f');
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace

std::vector<std::string> picture_names() {
    std::vector<std::string> names;
    std::ranges::transform(pictures, std::back_inserter(names),
                           [](const Picture& picture) { return std::string(picture.name); });
    return names;
}

void draw(Chart chart, const Options& options) {
    leave_out_extremes(chart);
    // What the picture itself says need not stand above it, where both go to one terminal.
    const bool seen_at_once =
        options.output.empty() && isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    for (const std::string& note : chart.notes) {
        const bool in_picture = std::ranges::any_of(chart.panels, [&](const Panel& panel) {
            return panel.missing.find(note) != std::string::npos;
        });
        if (!seen_at_once || !in_picture) {
            say("{}", note);
        }
    }
    constexpr std::size_t most_notes = 5;
    if (chart.notes.size() > most_notes) {
        const std::size_t more = chart.notes.size() - most_notes + 1;
        chart.notes.resize(most_notes - 1);
        chart.notes.push_back(fmt::format("{} further remarks stand on stderr.", more));
    }
    if (options.output.empty()) {
        chart.notes.clear();
        fmt::print("{}", lines_of_terminal(drawn_by_gnuplot(
                             gnuplot_script(chart, PictureForm::terminal, terminal_size()))));
        return;
    }
    const std::string script = gnuplot_script(chart, picture_form(options.output));
    if (options.keep_script) {
        write_whole_file(options.output + ".gp", script);
    }
    write_whole_file(options.output, drawn_by_gnuplot(script));
}

void require_picture_output(const Options& options) {
    if (options.output.empty()) {
        return;
    }
    static_cast<void>(picture_form(options.output));
    require_output("-o", options.output, options.files);
    if (options.keep_script) {
        require_output("--keep-script", options.output + ".gp", options.files);
    }
}

int run_plot(const Options& options) {
    const Picture& picture = picture_called(options.picture);
    require_its_options(picture, options);
    require_picture_output(options);
    std::ranges::for_each(options.files, require_receipts);
    const Chart chart = picture.chart(options);
    draw(chart, options);
    if (!draws_nothing(chart)) {
        return exit_ok;
    }
    if (!options.output.empty()) {
        say("{}", chart.panels.front().missing);
    }
    return exit_usage;
}

}  // namespace raceline::cli
