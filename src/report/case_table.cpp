// SPDX-License-Identifier: Apache-2.0
#include "report/case_table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "model/speed_of_light.hpp"
#include "report/case_accuracy.hpp"
#include "report/case_columns.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string rate_cell(const CaseLine& line) {
    return achieved_rate(line.flops, line.bytes, line.measured);
}

// Declared compulsory bytes over the measured ceiling. Over 100 % is a cache, never "good".
std::string dram_text(const CaseLine& line, double ceiling) {
    if (ceiling <= 0 || line.measured <= 0) {
        return "";
    }
    const double share = line.bytes / line.measured / ceiling;
    return share > 1 ? "cache" : format_percent(share);
}

std::string band_text(const CaseLine& line) {
    return line.band ? format_seconds(line.band->low) + " to " + format_seconds(line.band->high)
                     : "";
}

std::string error_text(const CaseLine& line) {
    if (!line.unsettled.empty()) {
        return "unsettled";
    }
    return line.measured <= 0 || line.predicted <= 0
               ? ""
               : format_signed_percent(line.predicted / line.measured - 1);
}

}  // namespace

CaseTable::CaseTable(const Device& device) : device_(device) {}

void CaseTable::add(const Case& which, const CaseResult& result) {
    CaseLine line;
    const Workload& w = which.workload;
    line.shape = format_shape(w);
    line.kernel = which.kernel->name;
    line.tile = which.kernel->tile_text(which.tile);
    line.refusal = result.refusal;
    line.flops = w.flops();
    line.bytes = w.bytes_read() + w.bytes_written();
    line.bound = speed_of_light(device_, w, which.options.how);
    if (result.explained) {
        const Prediction& p = result.explained->prediction;
        line.limiter = p.limiter;
        line.intensity = p.layer1.arithmetic_intensity;
        line.ridge = p.layer1.ridge;
        line.predicted = p.seconds;
        line.expected = p.expected_seconds;
        line.band = p.band;
        line.rates = origins_text(result.explained->rates);
    }
    if (result.correctness) {
        line.checked = true;
        line.passed = result.correctness->passed;
        line.relative_rms = result.correctness->relative_rms;
        line.rms_bound = result.correctness->bound;
        line.worst = result.correctness->worst;
        line.why = result.correctness->why;
    }
    if (result.measurement) {
        const Measurement& m = *result.measurement;
        line.measured = m.seconds_median;
        line.spread = (m.seconds_high - m.seconds_low) / 2 / m.seconds_median;
        line.unsettled = why_unsettled(m);
    }
    add(std::move(line));
}

void CaseTable::add(CaseLine line) {
    if (!line.unsettled.empty()) {
        leave_out(fmt::format("{} on {}", line.kernel, line.shape), line.unsettled);
    }
    lines_.push_back(std::move(line));
}

void CaseTable::leave_out(std::string_view what, std::string_view why) {
    left_out_.push_back(fmt::format("{}: {}", what, why));
}

std::string CaseTable::left_out_lines(const TextStyle& style) const {
    if (left_out_.empty()) {
        return "";
    }
    std::string text = fmt::format(
        "{} unsettled, and counted in no accuracy and no ratio:\n",
        left_out_.size() == 1 ? "1 time is" : fmt::format("{} times are", left_out_.size()));
    for (const std::string& line : left_out_) {
        constexpr std::size_t indent = 4;
        text += paragraph("  " + line, style, indent);
    }
    return text;
}

std::string why_unsettled(const Measurement& m) {
    if (!m.unsettled || !m.disturbance.empty()) {
        return m.unsettled ? m.disturbance : "";
    }
    return fmt::format("the median's interval is {} of it",
                       format_percent((m.seconds_high - m.seconds_low) / m.seconds_median));
}

namespace {

// A column, and what it says of a kernel's line.
struct CaseColumn {
    TextTable::Column head;
    std::function<std::string(const CaseLine&)> cell;
};

// How long columns stay where a table is too wide: what the verdict of a run cannot do without
// longest. An error is what two other columns differ by.
struct Keep {
    static constexpr int tiles = 1, errors_of_gate = 2, of_memory = 3, spread = 4, rates = 5,
                         bounds = 6, roofline = 7, of_bound = 8, errors = 9, predictions = 10,
                         limiters = 11;
};

std::string number_text(double value) {
    return value > 0 ? format_number(value) : "";
}

// What the bound is of the time that was taken, or of the predicted one.
std::string of_bound_text(const CaseLine& line) {
    return share_of_bound(line.bound.seconds, line.measured > 0 ? line.measured : line.predicted);
}

// Of a prediction alone: of the time that is expected, which the table shows.
std::string of_expected_text(const CaseLine& line) {
    return share_of_bound(line.bound.seconds, line.expected);
}

std::vector<CaseColumn> roofline_columns() {
    return {{limiter_column(Keep::limiters), [](const CaseLine& line) { return line.limiter; }},
            {number_column("FLOP/B", Keep::roofline),
             [](const CaseLine& line) { return number_text(line.intensity); }},
            {number_column("ridge", Keep::roofline),
             [](const CaseLine& line) { return number_text(line.ridge); }}};
}

CaseColumn of_bound_column() {
    return {number_column("of bound", Keep::of_bound), of_bound_text};
}

// Where two lines are of one shape and kernel, the tile tells them apart.
CaseColumn tile_column(std::span<const CaseLine> lines) {
    std::set<std::pair<std::string, std::string>> seen;
    const bool apart = std::ranges::any_of(lines, [&](const CaseLine& line) {
        return line.refusal.empty() && !seen.emplace(line.shape, line.kernel).second;
    });
    return {text_column("tile", apart ? TextTable::always : Keep::tiles),
            [](const CaseLine& line) { return line.tile; }};
}

CaseColumn predicted_column(std::string title) {
    return {number_column(std::move(title), Keep::predictions),
            [](const CaseLine& line) { return time_text(line.predicted); }};
}

void append(std::vector<CaseColumn>& to, std::vector<CaseColumn> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<CaseColumn> measured_columns(double dram_read) {
    return {{number_column("measured"),
             [](const CaseLine& line) {
                 return line.measured > 0 ? format_seconds(line.measured) : "-";
             }},
            {number_column("±", Keep::spread),
             [](const CaseLine& line) {
                 return line.measured > 0 ? format_percent(line.spread, 1) : "";
             }},
            {number_column("error", Keep::errors), error_text},
            {number_column("rate", Keep::rates), rate_cell},
            {number_column("DRAM", Keep::of_memory),
             [=](const CaseLine& line) { return dram_text(line, dram_read); }}};
}

std::vector<CaseColumn> gate_columns() {
    TextTable::Column gate = text_column("gate");
    gate.ink = verdict_ink;
    return {{number_column("rel. RMS", Keep::errors_of_gate),
             [](const CaseLine& line) { return fmt::format("{:.1e}", line.relative_rms); }},
            {number_column("of limit", Keep::errors_of_gate),
             [](const CaseLine& line) {
                 return line.rms_bound > 0 ? format_percent(line.relative_rms / line.rms_bound)
                                           : "";
             }},
            {gate, [](const CaseLine& line) { return line.passed ? "pass" : "FAIL"; }}};
}

std::string table_text(const std::vector<CaseColumn>& columns, std::span<const CaseLine> lines,
                       const TextStyle& style) {
    std::vector<TextTable::Column> heads;
    heads.reserve(columns.size());
    for (const CaseColumn& column : columns) {
        heads.push_back(column.head);
    }
    TextTable table(heads);
    for (const CaseLine& line : lines) {
        std::vector<std::string> cells;
        cells.reserve(columns.size());
        for (const CaseColumn& column : columns) {
            cells.push_back(column.cell(line));
        }
        table.add(std::move(cells));
    }
    return lines.empty() ? "" : table.str(style);
}

std::vector<CaseColumn> case_columns(CaseTable::Columns columns, std::span<const CaseLine> lines,
                                     double dram_read) {
    std::vector<CaseColumn> all{
        {shape_column("shape", Keep::roofline), [](const CaseLine& line) { return line.shape; }},
        {text_column("kernel"), [](const CaseLine& line) { return line.kernel; }},
        tile_column(lines)};
    if (columns == CaseTable::Columns::all) {
        append(all, roofline_columns());
        append(all, {{number_column("bound", Keep::bounds),
                      [](const CaseLine& line) { return time_text(line.bound.seconds); }},
                     of_bound_column(),
                     predicted_column("predicted")});
        append(all, measured_columns(dram_read));
    }
    append(all, gate_columns());
    return all;
}

// A problem's line above its kernels: what the device's best engine and its memory make of it.
CaseLine bound_line(const CaseLine& of, bool served) {
    CaseLine line;
    line.kernel = of.shape;
    line.limiter = of.bound.limiter;
    line.intensity = of.bound.arithmetic_intensity;
    line.ridge = of.bound.ridge;
    line.bound = of.bound;
    line.rates = of.bound.rates;
    line.tile =
        fmt::format("bound{}{}", of.bound.engine.empty() ? "" : ", products on ", of.bound.engine);
    line.kernel += served ? "" : " (none of these kernels serves it)";
    return line;
}

// Lines of one problem side by side, each group under its bound.
std::vector<CaseLine> under_bounds(std::span<const CaseLine> lines) {
    std::vector<CaseLine> all;
    for (auto first = lines.begin(); first != lines.end();) {
        const auto last = std::find_if(
            first, lines.end(), [&](const CaseLine& line) { return line.shape != first->shape; });
        const auto served = [](const CaseLine& line) { return line.refusal.empty(); };
        all.push_back(bound_line(*first, std::any_of(first, last, served)));
        for (; first != last; ++first) {
            if (served(*first)) {
                all.push_back(*first);
                all.back().kernel = "  " + first->kernel;
            }
        }
    }
    return all;
}

// Under the table: whose rates are which.
std::string sources_of(std::span<const CaseLine> lines) {
    RateOrigins origins;
    for (const CaseLine& line : lines) {
        origins.add(line.refusal.empty() ? line.rates : "", line.kernel);
    }
    if (origins.text().empty() && !lines.empty()) {
        origins.add(lines.front().bound.rates, "bounds");  // nothing else stands there
    }
    return origins.text();
}

// Names of problems are as long as shapes, and cut as these.
std::string short_name(std::string_view name) {
    return name.starts_with(' ') ? std::string(name) : short_shape(name);
}

std::string prediction_text(std::span<const CaseLine> cases, bool uncalibrated,
                            const TextStyle& style) {
    const std::vector<CaseLine> lines = under_bounds(cases);
    const std::string sources = sources_of(cases);
    const bool mixed = std::ranges::any_of(
        cases, [&](const CaseLine& line) { return line.rates != cases.front().rates; });
    TextTable::Column names = shape_column("problem / kernel", Keep::roofline);
    names.shortened = short_name;
    std::vector<CaseColumn> columns{{names, [](const CaseLine& line) { return line.kernel; }}};
    append(columns, roofline_columns());
    append(columns, {{number_column("bound", Keep::predictions),
                      [](const CaseLine& line) {
                          return line.predicted > 0 ? "" : time_text(line.bound.seconds);
                      }},
                     {number_column("of bound", Keep::of_bound),
                      uncalibrated ? of_bound_text : of_expected_text}});
    if (!uncalibrated) {
        append(columns, {{number_column("expected"),
                          [](const CaseLine& line) { return time_text(line.expected); }},
                         {text_column("band", Keep::bounds), band_text}});
    }
    columns.push_back(predicted_column(uncalibrated ? "uncalibrated model" : "model"));
    if (mixed) {
        columns.push_back(
            {text_column("rates", Keep::tiles), [](const CaseLine& line) { return line.rates; }});
    }
    columns.push_back(tile_column(cases));
    return table_text(columns, lines, style) +
           (sources.empty() ? "" : paragraph("rates: " + sources, style));
}

}  // namespace

std::string CaseTable::failure_lines(const TextStyle& style) const {
    std::string text;
    for (const CaseLine& line : lines_) {
        if (line.refusal.empty() && line.checked && !line.passed) {
            text += fmt::format("{} {} {} {}: {}\n", inked("FAIL", Ink::bad, style), line.kernel,
                                line.tile, heading_shape(line.shape, style), line.why);
        }
    }
    return text;
}

std::string CaseTable::str(Columns columns, const TextStyle& style) const {
    if (columns == Columns::prediction || columns == Columns::uncalibrated_prediction) {
        return prediction_text(lines_, columns == Columns::uncalibrated_prediction, style) +
               refusal_lines(style);
    }
    std::vector<CaseLine> ran;
    std::ranges::copy_if(lines_, std::back_inserter(ran),
                         [](const CaseLine& line) { return line.refusal.empty(); });
    const double dram_read = device_.find("byte.dram_read").value_or(0);
    return table_text(case_columns(columns, ran, dram_read), ran, style) + failure_lines(style) +
           refusal_lines(style) +
           (columns == Columns::all ? accuracy_text(lines_, style) + left_out_lines(style) : "");
}

namespace {

// "block, fused, gqa and 11 more"; all of them where there is room for anything.
std::string some_names(const std::vector<std::string>& names, const TextStyle& style) {
    constexpr std::size_t most = 4;
    if (style.columns == 0 || names.size() <= most) {
        return fmt::format("{}", fmt::join(names, ", "));
    }
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + most - 1, ", "),
                       names.size() - (most - 1));
}

}  // namespace

std::string CaseTable::only_refusal() const {
    std::vector<std::string> names;
    for (const CaseLine& line : lines_) {
        if (line.refusal.empty() || line.refusal != lines_.front().refusal) {
            return "";
        }
        if (std::ranges::find(names, line.kernel) == names.end()) {
            names.push_back(line.kernel);
        }
    }
    constexpr TextStyle short_list{.columns = 1};
    return names.empty()
               ? ""
               : fmt::format("{}: {}", some_names(names, short_list), lines_.front().refusal);
}

std::string CaseTable::refusal_lines(const TextStyle& style) const {
    std::map<std::string, std::map<std::string, int>> reasons;  // with each kernel's shapes
    for (const CaseLine& line : lines_) {
        if (!line.refusal.empty()) {
            ++reasons[line.refusal][line.kernel];
        }
    }
    std::string text;
    for (const auto& [reason, kernels] : reasons) {
        std::map<int, std::vector<std::string>> alike;
        for (const auto& [kernel, count] : kernels) {
            alike[count].push_back(kernel);
        }
        for (const auto& [count, names] : alike) {
            std::string lines =
                paragraph(fmt::format("not run on {}: {}: {}",
                                      counted_text(static_cast<std::size_t>(count), "shape"),
                                      some_names(names, style), reason),
                          style);
            lines.pop_back();  // the end of the last one has no colour
            text += inked(lines, Ink::hint, style) + "\n";
        }
    }
    return text;
}

}  // namespace raceline
