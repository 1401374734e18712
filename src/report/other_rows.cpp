// SPDX-License-Identifier: Apache-2.0
#include "report/other_rows.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/case_columns.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string shape_of(const RowCase& about) {
    return format_shape(workload_from_json(about.workload));
}

// Whether shape, kernel and peer tell the comparisons apart: the form of a peer may then leave.
bool peers_differ(const std::vector<std::vector<std::string>>& comparisons) {
    std::set<std::string> seen;
    return std::ranges::all_of(comparisons, [&](const std::vector<std::string>& line) {
        return seen.insert(line[0] + '\n' + line[1] + '\n' + line[3]).second;
    });
}

// Of lines that are not there nothing is printed.
std::string table_of(TextTable table, const std::vector<std::vector<std::string>>& lines,
                     const TextStyle& style) {
    for (const std::vector<std::string>& line : lines) {
        table.add(line);
    }
    return lines.empty() ? "" : table.str(style);
}

// Kernel and shape of counters whose measurement is in none of the files, as "kernel\nshape": those
// of the row itself, which may have them; else what it belongs to.
std::string own_case(const Json& row, const std::string& measurement_id) {
    try {
        return row.at("kernel").get<std::string>() + "\n" +
               format_shape(workload_from_json(row.at("workload")));
    } catch (const std::exception&) {
        return "\nof measurement " + measurement_id.substr(0, 8) + ", which is not in these files";
    }
}

// A backend that profilers name goes on with the names of its kernels.
std::string form_text(const std::string& backend) {
    return backend.substr(0, backend.find(':'));
}

}  // namespace

void OtherRows::add(const Json& row) {
    const auto kind = row.at("kind").get<std::string>();
    if (kind == PredictionRow::kind) {
        open_[row.at("id").get<std::string>()] = row_from_json<PredictionRow>(row);
    } else if (kind == MeasurementRow::kind) {
        const auto measured = row_from_json<MeasurementRow>(row);
        open_.erase(measured.prediction_id);
        about_[row.at("id").get<std::string>()] =
            measured.about.kernel + "\n" + shape_of(measured.about);
    } else if (kind == ComparisonRow::kind) {
        add_comparison(row);
    } else if (kind == CheckRow::kind) {
        add_check(row);
    } else if (kind == CountersRow::kind) {
        add_counters(row);
    } else if (kind == CeilingRow::kind) {
        const auto measured = row_from_json<CeilingRow>(row);
        const Ceiling& c = measured.ceiling;
        ceilings_.push_back({measured.device.id, c.resource, format_quantity(c.value, c.unit),
                             c.limit > 0 ? format_percent(c.value / c.limit, 1) : "",
                             c.power_w > 0 ? format_si(c.power_w, "W") : ""});
    } else if (kind == BoundRow::kind) {
        const auto least = row_from_json<BoundRow>(row);
        bounds_.push_back({format_shape(workload_from_json(least.workload)), least.device.id,
                           least.bound.seconds > 0 ? format_seconds(least.bound.seconds) : "",
                           least.bound.limiter});
    } else if (kind == DeviceRow::kind) {
        const auto device = row_from_json<DeviceRow>(row).device;
        devices_.insert(fmt::format("{} ({})", device.name, device.id));
    } else if (kind == KernelRow::kind) {
        kernels_.insert(row_from_json<KernelRow>(row).kernel);
    }
}

void OtherRows::add_comparison(const Json& row) {
    const auto compared = row_from_json<ComparisonRow>(row);
    open_.erase(compared.prediction_id);
    const bool settled = !compared.measurement.unsettled && !compared.peer.measurement.unsettled;
    comparisons_.push_back(
        {shape_of(compared.about), compared.about.kernel,
         format_seconds(compared.measurement.seconds_median), compared.peer.name,
         form_text(compared.peer.backend), format_seconds(compared.peer.measurement.seconds_median),
         format_fixed(compared.ratio, 2),
         settled
             ? format_fixed(compared.ratio_low, 2) + " to " + format_fixed(compared.ratio_high, 2)
             : "unsettled"});
}

void OtherRows::add_check(const Json& row) {
    const auto check = row_from_json<CheckRow>(row);
    Checks& checks = checks_[check.about.kernel + " on " + check.about.device.id];
    const Correctness& verdict = check.correctness;
    ++(verdict.passed ? checks.passed : checks.failed);
    if (verdict.bound > 0) {
        checks.largest = std::max(checks.largest, verdict.relative_rms / verdict.bound);
    }
}

void OtherRows::add_counters(const Json& row) {
    const auto counted = row_from_json<CountersRow>(row);
    const auto about = about_.find(counted.measurement_id);
    const std::string both =
        about == about_.end() ? own_case(row, counted.measurement_id) : about->second;
    const auto limiter = counted.counters.find("limiter");
    counters_.push_back({both.substr(both.find('\n') + 1), both.substr(0, both.find('\n')),
                         limiter != counted.counters.end() && limiter->is_string()
                             ? limiter->get<std::string>()
                             : ""});
}

std::string OtherRows::unanswered(const TextStyle& style) const {
    std::vector<std::vector<std::string>> lines;
    lines.reserve(open_.size());
    for (const auto& [id, row] : open_) {
        lines.push_back({shape_of(row.about), row.about.kernel, row.about.device.id,
                         row.prediction.limiter, format_seconds(row.prediction.seconds)});
    }
    std::ranges::sort(lines);
    return table_of(TextTable({shape_column(), text_column("kernel"), text_column("device"),
                               limiter_column(1), number_column("predicted, not measured")}),
                    lines, style);
}

std::string OtherRows::checks(const TextStyle& style) const {
    std::string text;
    for (const auto& [kernel, checks] : checks_) {
        text += fmt::format("{}: {} passed, {}; largest error {} of its limit\n", kernel,
                            counted_text(static_cast<std::size_t>(checks.passed), "check"),
                            inked(fmt::format("{} failed", checks.failed),
                                  checks.failed > 0 ? Ink::bad : Ink::plain, style),
                            format_percent(checks.largest));
    }
    return text;
}

std::string OtherRows::str(const TextStyle& style) const {
    const TextTable bounds({shape_column(), text_column("device"),
                            number_column("bound of the problem"), limiter_column(1)});
    const TextTable comparisons(
        {shape_column("shape", 3), text_column("kernel"), number_column("ours"),
         text_column("peer"),
         text_column("form", peers_differ(comparisons_) ? 2 : TextTable::always),
         number_column("its time"), number_column("its / ours"), text_column("interval", 1)});
    const TextTable counters({shape_column(), text_column("kernel"),
                              limiter_column(TextTable::always, "limiter by counters")});
    const TextTable ceilings("device | resource | >ceiling | >?2 of its limit | >?1 power");
    std::string text = unanswered(style) + table_of(bounds, bounds_, style) +
                       table_of(comparisons, comparisons_, style) +
                       table_of(counters, counters_, style) + checks(style) +
                       table_of(ceilings, ceilings_, style);
    if (!devices_.empty()) {
        text += fmt::format("device rows: {}\n", fmt::join(devices_, ", "));
    }
    if (!kernels_.empty()) {
        text += fmt::format("kernel rows: {}\n", fmt::join(kernels_, ", "));
    }
    return text;
}

}  // namespace raceline
