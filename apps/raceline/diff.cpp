// SPDX-License-Identifier: Apache-2.0
// `raceline diff`: two receipt files or commits, case by case.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "options.hpp"
#include "plot/charts.hpp"
#include "receipt/named_file.hpp"
#include "receipt/rows.hpp"
#include "report/receipt_diff.hpp"
#include "support/check.hpp"
#include "support/file_names.hpp"
#include "terminal.hpp"
#include "usage.hpp"

namespace raceline::cli {
namespace {

bool is_commit(std::string_view text) {
    constexpr std::size_t least = 7;  // as git shortens them
    return text.size() >= least && text.size() <= 40 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// What to name in the place of a name that git knows: it is asked for none, since receipts may lie
// where there is no repository.
std::string how_to_name_commits() {
    constexpr std::size_t most = 6;
    std::vector<std::string> commits = commits_in("receipts");
    if (commits.empty()) {
        return "";
    }
    const std::size_t more = commits.size() > most ? commits.size() - most : 0;
    commits.resize(commits.size() - more);
    return fmt::format(
        "; names of git, as HEAD or a branch, are not resolved; receipts/ has rows "
        "of {}{}, the newest first",
        fmt::join(commits, ", "), more > 0 ? fmt::format(" and {} more commits", more) : "");
}

TimedRows side_called(const std::string& name) {
    std::error_code ignored;
    if (std::filesystem::exists(name, ignored)) {
        require_receipts(name);
        return read_timed_rows({name});
    }
    require(is_commit(name), Status::invalid_argument,
            "{} is neither a file nor the beginning of a commit, which is seven hex digits or "
            "more{}",
            name, is_commit(name) ? "" : how_to_name_commits());
    return timed_rows_of_commit("receipts", name);
}

// Whether a side has times, of which none has settled: nothing is wrong with its rows.
bool is_noisy(const TimedRows& side) {
    return side.cases.empty() && std::ranges::any_of(side.rows, [](const Json& row) {
               return row.at("kind") == MeasurementRow::kind ||
                      row.at("kind") == ComparisonRow::kind;
           });
}

// Two sides that share no case are the wrong two, unless their times were too noisy to count.
int exit_of(const ReceiptDiff& diff, bool noisy) {
    if (!diff.cases.empty()) {
        return exit_ok;
    }
    const std::string both = fmt::format("{} and {}", diff.before, diff.after);
    if (noisy) {
        say("raceline: no time of a side of {} has settled, and nothing was compared: measure it "
            "again where the machine is quieter, or give it more --max-seconds",
            both);
        return exit_ok;
    }
    say("raceline: {} have no case in common, and nothing was compared: name two sides that timed "
        "the same kernels on the same shapes, device and way of launching",
        both);
    return exit_usage;
}

}  // namespace

int run_diff(const Options& options) {
    require(options.files.size() == 2, Status::invalid_argument,
            "diff takes two sides, receipt files or commits, and {}",
            given_text(options.files.size()));
    require_picture_output(options);
    TimedRows before = side_called(options.files[0]);
    TimedRows after = side_called(options.files[1]);
    const bool noisy = is_noisy(before) || is_noisy(after);
    ReceiptDiff diff = diff_of(std::move(before), std::move(after));
    const std::vector<std::string> names = short_names(options.files);
    diff.before = names[0];
    diff.after = names[1];
    if (!options.output.empty()) {
        draw(diff_chart(diff, options.all ? Shown::all : Shown::most_useful), options);
        return exit_of(diff, noisy);
    }
    for (const std::string& note : diff.notes) {
        say("{}", note);
    }
    fmt::print("{}", diff_text(diff, stdout_style(options)));
    return exit_of(diff, noisy);
}

}  // namespace raceline::cli
