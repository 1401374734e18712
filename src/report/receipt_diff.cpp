// SPDX-License-Identifier: Apache-2.0
#include "report/receipt_diff.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "report/case_columns.hpp"
#include "report/first_sight.hpp"
#include "report/ladder_verdict.hpp"
#include "report/machines.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

using ByTile = std::map<std::string, const TimedCase*>;
using ByCase = std::map<std::string, ByTile>;

ByCase cases_of(const TimedRows& rows) {
    ByCase cases;
    for (const TimedCase& one : rows.cases) {
        const TimedCase*& known = cases[case_identity(one)][tile_fields(one.about.tile)];
        if (known == nullptr || known->written <= one.written) {
            known = &one;
        }
    }
    return cases;
}

void note_repeats(std::string_view side, const TimedRows& rows, const ByCase& cases,
                  ReceiptDiff& diff) {
    std::size_t counted = 0;
    for (const auto& [key, tiles] : cases) {
        counted += tiles.size();
    }
    if (const std::size_t more = rows.cases.size() - counted; more > 0) {
        diff.notes.push_back(
            fmt::format("{}: {} timed again later; the last time counts", side,
                        more == 1 ? "1 case was" : fmt::format("{} cases were", more)));
    }
}

// What keeps sides apart that have no case in common.
std::string what_ran(const TimedRows& rows) {
    std::set<std::string> devices;
    std::set<std::string> kernels;
    std::set<std::string> ways;
    for (const TimedCase& one : rows.cases) {
        devices.insert(one.device);
        kernels.insert(one.kernel);
        ways.insert(way_of(one));
    }
    return fmt::format("{} on {}; {}", fmt::join(kernels, ", "), fmt::join(devices, ", "),
                       fmt::join(ways, "; "));
}

CaseDiff compared(const TimedCase& before, const TimedCase& after) {
    const Measurement& a = before.measured;
    const Measurement& b = after.measured;
    CaseDiff diff{.before = before,
                  .after = after,
                  .ratio = a.seconds_median / b.seconds_median,
                  .ratio_low = a.seconds_low / b.seconds_high,
                  .ratio_high = a.seconds_high / b.seconds_low};
    if (diff.ratio_low > 1 && diff.ratio > 1 + no_effect) {
        diff.change = Change::faster;
    } else if (diff.ratio_high < 1 && diff.ratio < 1 / (1 + no_effect)) {
        diff.change = Change::slower;
    }
    diff.missed = after.predicted && !time_hit(after.predicted->seconds, b.seconds_median);
    return diff;
}

// Pairs of one case: by tile, or where each side ran a single one whatever it was.
void pair_up(const ByTile& before, const ByTile& after, ReceiptDiff& diff) {
    if (before.size() == 1 && after.size() == 1) {
        diff.cases.push_back(compared(*before.begin()->second, *after.begin()->second));
        return;
    }
    for (const auto& [tile, one] : before) {
        if (const auto found = after.find(tile); found != after.end()) {
            diff.cases.push_back(compared(*one, *found->second));
        } else {
            diff.only_before.push_back(*one);
        }
    }
    for (const auto& [tile, one] : after) {
        if (!before.contains(tile)) {
            diff.only_after.push_back(*one);
        }
    }
}

// Where one side alone has several machines of one name, the same words name them on both. Where
// each has one and they differ, their cases are matched, and a note says so.
void match_machines(TimedRows& before, TimedRows& after, ReceiptDiff& diff) {
    const MachineWords words = machines_of({&before, &after});
    if (has_named_machines(before) || has_named_machines(after)) {
        name_machines(before, words);
        name_machines(after, words);
        return;
    }
    for (const auto& [of, machine] : words) {
        const auto states = before.stated.find(of.first);
        const bool on_before = states != before.stated.end() && states->second.contains(of.second);
        diff.notes.push_back(fmt::format("{}: {} has {}: another machine of that name",
                                         on_before ? "before" : "after", of.first, machine));
    }
}

std::string tile_change(const CaseDiff& diff) {
    const std::string before = tile_fields(diff.before.about.tile);
    const std::string after = tile_fields(diff.after.about.tile);
    return before == after ? after : before + " → " + after;
}

std::string error_text(const TimedCase& one) {
    return one.predicted
               ? format_signed_percent(one.predicted->seconds / one.measured.seconds_median - 1)
               : "";
}

std::string_view change_word(Change change) {
    return change == Change::faster ? "faster" : change == Change::slower ? "slower" : "same";
}

TextTable::Column verdict_column(std::string title, int priority) {
    TextTable::Column column = text_column(std::move(title), priority);
    column.ink = verdict_ink;
    return column;
}

std::vector<std::string> words_of(const std::string& way) {
    std::vector<std::string> words;
    for (std::size_t from = 0; from < way.size();) {
        const std::size_t to = std::min(way.find(", ", from), way.size());
        words.push_back(way.substr(from, to - from));
        from = to + 2;
    }
    return words;
}

// How each case was launched, without what is so of all of them.
std::vector<std::string> calls_of(const ReceiptDiff& diff) {
    std::map<std::string, std::size_t> times;
    for (const CaseDiff& one : diff.cases) {
        for (const std::string& word : words_of(way_of(one.after))) {
            ++times[word];
        }
    }
    std::vector<std::string> calls;
    for (const CaseDiff& one : diff.cases) {
        std::vector<std::string> told = words_of(way_of(one.after));
        std::erase_if(told, [&](const auto& word) { return times[word] == diff.cases.size(); });
        calls.push_back(fmt::format("{}", fmt::join(told, ", ")));
    }
    return calls;
}

// Whether some rows say the same in these columns.
bool repeat(const std::vector<std::vector<std::string>>& rows,
            std::initializer_list<std::size_t> columns) {
    std::set<std::vector<std::string>> seen;
    return std::ranges::any_of(rows, [&](const std::vector<std::string>& row) {
        std::vector<std::string> told;
        std::ranges::transform(columns, std::back_inserter(told),
                               [&](std::size_t column) { return row[column]; });
        return !seen.insert(told).second;
    });
}

std::vector<std::string> row_of(const CaseDiff& one, const std::string& call) {
    return {one.after.shape,
            one.after.kernel,
            one.after.device,
            call,
            tile_change(one),
            format_seconds(one.before.measured.seconds_median),
            format_seconds(one.after.measured.seconds_median),
            format_fixed(one.ratio, 3),
            format_fixed(one.ratio_low, 3) + " to " + format_fixed(one.ratio_high, 3),
            std::string(change_word(one.change)),
            error_text(one.before),
            error_text(one.after),
            !one.after.predicted ? "none"
            : one.missed         ? "missed"
                                 : "hit"};
}

TextTable::Column call_column(int priority) {
    TextTable::Column column = text_column("call", priority);
    column.shortened = [](std::string_view cell) {
        constexpr std::string_view turns = "in turns", with = " with a peer";
        std::string text(cell);
        const std::size_t at = text.find(std::string(turns) + std::string(with));
        return at == std::string::npos ? text : text.erase(at + turns.size(), with.size());
    };
    return column;
}

bool several_devices(const ReceiptDiff& diff) {
    return std::ranges::any_of(diff.cases, [&](const CaseDiff& one) {
        return one.after.device != diff.cases.front().after.device;
    });
}

// What tells rows apart stays in a narrow table: the device of several, the way of launching, and
// the tile where these do not.
std::string table_of(const ReceiptDiff& diff, const TextStyle& style) {
    constexpr std::size_t shape = 0, kernel = 1, device = 2, call = 3;
    const std::vector<std::string> calls = calls_of(diff);
    std::vector<std::vector<std::string>> rows;
    rows.reserve(diff.cases.size());
    for (std::size_t i = 0; i < diff.cases.size(); ++i) {
        rows.push_back(row_of(diff.cases[i], calls[i]));
    }
    const auto priority = [](bool needed) { return needed ? TextTable::always : 1; };
    // The ratio and its interval are what a diff is for: all else makes room for them.
    std::vector<TextTable::Column> columns{
        shape_column(),
        text_column("kernel"),
        text_column("device", priority(several_devices(diff))),
        call_column(priority(repeat(rows, {shape, kernel, device}))),
        text_column("tile", repeat(rows, {shape, kernel, device, call}) ? 7 : 1),
        number_column("before", 2),  // says less than the time after
        number_column("after", 3),
        number_column("before / after"),
        number_column("interval"),  // which is not broken into lines
        verdict_column("change", TextTable::always),
        number_column("error before", 2),
        number_column("error after", 4),
        verdict_column("prediction", 5)};
    const bool one_call = std::ranges::all_of(calls, &std::string::empty);
    if (one_call) {
        columns.erase(columns.begin() + call);
    }
    TextTable table(std::move(columns));
    for (std::vector<std::string>& row : rows) {
        if (one_call) {
            row.erase(row.begin() + call);
        }
        table.add(std::move(row));
    }
    return table.str(style);
}

std::string kernel_lines(const ReceiptDiff& diff, const TextStyle& style) {
    std::map<std::string, std::vector<double>> logarithms;
    for (const CaseDiff& one : diff.cases) {
        logarithms[one.after.kernel + " on " + one.after.device].push_back(std::log(one.ratio));
    }
    std::string text;
    for (const auto& [kernel, all] : logarithms) {
        double sum = 0;
        for (const double one : all) {
            sum += one;
        }
        text += paragraph(fmt::format("{}: before / after {:.3f}, geometric mean of {}", kernel,
                                      std::exp(sum / static_cast<double>(all.size())),
                                      counted_text(all.size(), "case")),
                          style);
    }
    return text;
}

std::string summary_of(const ReceiptDiff& diff, const TextStyle& style) {
    const auto count = [&](Change change) {
        return std::ranges::count(diff.cases, change, &CaseDiff::change);
    };
    std::string text =
        paragraph(fmt::format("{} faster, {} slower, {} the same (their interval holds 1, or they "
                              "are within {} of it); "
                              "{} mispredicted (by more than {})",
                              count(Change::faster), count(Change::slower), count(Change::same),
                              format_percent(no_effect),
                              std::ranges::count(diff.cases, true, &CaseDiff::missed),
                              format_percent(time_tolerance)),
                  style);
    if (!diff.only_before.empty() || !diff.only_after.empty()) {
        text += paragraph(fmt::format("not on both sides: {} before, {} after",
                                      diff.only_before.size(), diff.only_after.size()),
                          style);
    }
    return text;
}

}  // namespace

std::string case_identity(const TimedCase& one) {
    const LaunchCase& launch = one.about.launch;
    return fmt::format("{}\n{}\n{}\n{} {} {} {} {}", one.device, one.kernel, one.shape, launch.cold,
                       launch.launch_path, launch.threads, launch.regime, one.interleaved);
}

ReceiptDiff diff_of(TimedRows before, TimedRows after) {
    ReceiptDiff diff;
    match_machines(before, after, diff);
    for (const auto& [side, rows] : {std::pair{"before", &before}, std::pair{"after", &after}}) {
        for (const std::string& note : rows->notes) {
            diff.notes.push_back(fmt::format("{}: {}", side, note));
        }
    }
    const ByCase old = cases_of(before);
    const ByCase fresh = cases_of(after);
    note_repeats("before", before, old, diff);
    note_repeats("after", after, fresh, diff);
    for (const auto& [key, tiles] : old) {
        const auto found = fresh.find(key);
        pair_up(tiles, found == fresh.end() ? ByTile{} : found->second, diff);
    }
    for (const auto& [key, tiles] : fresh) {
        if (!old.contains(key)) {
            pair_up({}, tiles, diff);
        }
    }
    if (diff.cases.empty() && !before.cases.empty() && !after.cases.empty()) {
        diff.notes.push_back(fmt::format("before: {}", what_ran(before)));
        diff.notes.push_back(fmt::format("after: {}", what_ran(after)));
    }
    // No two share key and tile. (std::stable_sort uses what clang calls deprecated.)
    std::ranges::sort(diff.cases, {}, [](const CaseDiff& c) {
        return std::tuple(c.ratio, case_identity(c.after), tile_fields(c.after.about.tile));
    });
    return diff;
}

std::string diff_text(const ReceiptDiff& diff, const TextStyle& style) {
    return diff.cases.empty()
               ? "No case was timed on both sides.\n" + summary_of(diff, style)
               : table_of(diff, style) + kernel_lines(diff, style) + summary_of(diff, style);
}

}  // namespace raceline
