// SPDX-License-Identifier: Apache-2.0
#include "report/receipt_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <system_error>

#include "receipt/past_measurement.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "receipt/stored_text.hpp"
#include "registry/registry.hpp"
#include "report/sights.hpp"
#include "report/sound_rows.hpp"
#include "report/stale.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Models that were refuted by a time below their own bound, and mended: what kernels were said to
// do was more than they do. Their rows stay, and are held to the bound of the problem alone.
constexpr std::array<std::string_view, 5> miscounted{
    "ee04c9f11d5d",   // rows_cpu at 10ce1dc4c1bd: loads, stores and integers counted as floats do
    "06b317325e94",   // crossentropy_cpu of the same commit, likewise
    "1676be79c223",   // linear_cublaslt at ebf4320b8ff7: clusters share operands by multicast
    "f078f4b71289",   // linear_cublaslt at b7ed9866ad96, likewise
    "eda67b17fba8"};  // linear_cublaslt at 16c873ba69fc: clusters of four share both operands

// A median may undercut a ceiling by the noise of either; beyond this the ceiling is wrong.
constexpr double beaten = 0.97;

std::string tile_text(const Json& tile) {
    std::string text;
    for (const auto& [name, value] : tile.items()) {
        text += (text.empty() ? "" : ",") + name + "=" + value.dump();
    }
    return text;
}

CaseLine base_line(const RowCase& about) {
    CaseLine line;
    const Workload w = workload_from_json(about.workload);
    line.shape = format_shape(w);
    line.kernel = about.kernel;
    line.tile = tile_text(about.tile);
    line.flops = w.flops();
    line.bytes = w.bytes_read() + w.bytes_written();
    return line;
}

}  // namespace

std::string finding_text(const Finding& finding) {
    return finding.line == 0
               ? fmt::format("{}: {}", finding.file, finding.what)
               : fmt::format("{}: line {}: {}", finding.file, finding.line, finding.what);
}

ReceiptReport::ReceiptReport(std::span<const build_info::EmbeddedSight> committed)
    : sights_(sights_of_this_build(committed)) {}

void ReceiptReport::add_history(const CommittedEvidence& evidence) {
    for (const auto& lines : {evidence.lost_lines(), evidence.wrong_lines()}) {
        for (const CommittedEvidence::LostLine& line : lines) {
            findings_.push_back({line.file, line.line, line.what});
        }
    }
    if (const std::string note = evidence.history_note(); !note.empty()) {
        notes_.push_back(note);
    }
}

void ReceiptReport::add(const std::string& path, const CommittedEvidence* evidence) {
    std::error_code none;
    if (!files_.insert(std::filesystem::weakly_canonical(path, none)).second) {
        return;  // named twice
    }
    const ReceiptFile file = read_receipts(path);
    if (file.rows.empty() && file.bad.size() > 1) {
        broken_.push_back(
            {path, 0,
             fmt::format("none of its {} lines is a row: {}", file.bad.size(),
                         is_index_name(path) ? "it is an index of receipts, which goes with "
                                               "--scorecard and --ladder"
                                             : "it is no receipt file")});
        findings_.push_back(broken_.back());
        return;
    }
    const SoundRows sound = sound_rows_of(file);
    for (const BadLine& bad : sound.changed) {
        changed_.push_back({path, bad.line, bad.reason});
    }
    for (const BadLine& bad : file.bad) {
        broken_.push_back({path, bad.line, bad.reason});
        findings_.push_back(broken_.back());
    }
    for (const BadLine& bad : check_receipts(file)) {
        const bool known = std::any_of(file.bad.begin(), file.bad.end(),
                                       [&](const BadLine& b) { return b.line == bad.line; });
        if (!known) {
            findings_.push_back({path, bad.line, bad.reason});
        }
    }
    if (file.unfinished) {
        findings_.push_back({path, file.rows.size() + file.bad.size() + 1,
                             "unfinished: a writer was killed; the next run cuts this line"});
    }
    if (evidence != nullptr) {
        const CommittedEvidence::Answer answer = evidence->check(path, file);
        for (const BadLine& bad : answer.refused) {
            findings_.push_back({path, bad.line, bad.reason});
        }
        notes_.insert(notes_.end(), answer.notes.begin(), answer.notes.end());
    }
    if (const auto alone = unanswered_predictions(file); !alone.empty()) {
        notes_.push_back(
            fmt::format("{}: {} without a measurement or a refusal, the first in line {}: a run "
                        "that was cut off leaves one at most, `raceline predict` leaves all",
                        path, counted_text(alone.size(), "prediction"), alone.front()));
    }
    least_ = {};
    sights_.add(past_measurements(sound.rows));
    const std::map<std::string, std::string> starts = starts_of_runs(sound.rows);
    for (std::size_t i = 0; i < sound.rows.size(); ++i) {
        const Json& row = sound.rows[i];
        if (!ids_.insert(row.at("id").get<std::string>()).second) {
            ++copies_;  // what stands in two files or lines was measured once
            continue;
        }
        rows_.push_back(row);
        others_.add(row);
        const std::string kind = row.at("kind").get<std::string>();
        if (kind == CeilingRow::kind) {
            least_.take(row_from_json<CeilingRow>(row));
        } else if (kind == PredictionRow::kind) {
            predictions_[row.at("id").get<std::string>()] = row_from_json<PredictionRow>(row);
        } else if (kind == MeasurementRow::kind) {
            add_measurement(path, sound.lines[i], row, starts.at(run_of(row)));
        } else if (kind == ComparisonRow::kind) {
            add_comparison(path, sound.lines[i], row);
        } else if (kind == RefusalRow::kind) {
            const auto refused = row_from_json<RefusalRow>(row);
            CaseLine line = base_line(refused.about);
            line.refusal = refused.reason;
            lines_.push_back(std::move(line));
        }
    }
    for (const std::string& remark : least_.remarks()) {
        notes_.push_back(fmt::format("{}: {}", path, remark));
    }
}

void ReceiptReport::add_measurement(const std::string& path, std::size_t number, const Json& row,
                                    const std::string& run_began) {
    const auto measured = row_from_json<MeasurementRow>(row);
    CaseLine line = base_line(measured.about);
    const Kernel* kernel = kernel_once_called(line.kernel);
    if (kernel == nullptr || is_stale(row, *kernel)) {
        ++stale_;
        line.kernel += " (stale)";
    }
    const Correctness& verdict = measured.correctness;
    line.checked = true;
    line.passed = verdict.passed;
    line.relative_rms = verdict.relative_rms;
    line.rms_bound = verdict.bound;
    line.worst = verdict.worst;
    line.why = verdict.why;
    const auto found = predictions_.find(measured.prediction_id);
    if (found != predictions_.end()) {
        const Prediction& p = found->second.prediction;
        line.limiter = p.limiter;
        line.predicted = p.seconds;
        line.intensity = p.layer1.arithmetic_intensity;
        line.ridge = p.layer1.ridge;
        line.bound = found->second.bound;
    }
    if (measured.measurement) {
        const Measurement& m = *measured.measurement;
        line.unsettled = why_unsettled(m);
        line.measured = m.seconds_median;
        line.spread = (m.seconds_high - m.seconds_low) / 2 / m.seconds_median;
        check_bound(path, number, measured.about, measured.about.kernel, m,
                    predicted_bound(measured.prediction_id));
    }
    measured_.push_back({lines_.size(), measured_by(row), run_began});
    const DeviceName& device = measured.about.device;
    if (lines_.empty() || device_text_.find(device.name) == std::string::npos) {
        device_text_ +=
            fmt::format("{}{} ({})", device_text_.empty() ? "" : "; ", device.name, device.id);
    }
    lines_.push_back(std::move(line));
}

double ReceiptReport::predicted_bound(const std::string& prediction_id) {
    const auto found = predictions_.find(prediction_id);
    if (found == predictions_.end()) {
        return 0;
    }
    // Which code a library runs, and so what it executes, is guessed: that bounds nothing. What the
    // problem itself takes bounds it all the same.
    if (found->second.about.tile.contains("library")) {
        return 0;
    }
    const Prediction& prediction = found->second.prediction;
    if (std::ranges::any_of(miscounted, [&](std::string_view model) {
            return prediction.model_hash.starts_with(model);
        })) {
        overcounted_ = true;
        return 0;
    }
    return prediction.layer1.bound_seconds;
}

void ReceiptReport::check_bound(const std::string& path, std::size_t number, const RowCase& about,
                                std::string_view who, const Measurement& measured, double bound) {
    const auto least = least_.of(about);
    const bool below_own = measured.seconds_median < beaten * bound;
    const bool below_least = least && measured.seconds_median < beaten * least->seconds;
    if (!below_own && !below_least) {
        return;
    }
    const std::string shape = format_shape(workload_from_json(about.workload));
    const std::string what =
        fmt::format("{} took {} on {}", who, format_seconds(measured.seconds_median), shape);
    // What lies in the cache need not come from DRAM; multiplied it must be all the same.
    const bool too_fast_to_multiply = least && measured.seconds_median < beaten * least->operations;
    if (!about.launch.cold && !too_fast_to_multiply) {
        from_cache_.push_back(
            fmt::format("{}, less than DRAM allows: it was warm, and ran from the cache", what));
    } else if (below_least) {
        findings_.push_back(
            {path, number,
             fmt::format("{}, less than the {} that {} of the problem take at the measured "
                         "ceilings: the time or a ceiling is wrong",
                         what,
                         format_seconds(about.launch.cold ? least->seconds : least->operations),
                         about.launch.cold ? least->resource : "the operations")});
    } else {
        findings_.push_back({path, number,
                             fmt::format("{}, less than the {} that its ceilings allow: one was "
                                         "measured too low, or the time is wrong; `raceline "
                                         "measure` on a quiet machine measures ceilings again",
                                         what, format_seconds(bound))});
    }
}

void ReceiptReport::add_comparison(const std::string& path, std::size_t number, const Json& row) {
    const auto compared = row_from_json<ComparisonRow>(row);
    check_bound(path, number, compared.about, compared.about.kernel, compared.measurement,
                predicted_bound(compared.prediction_id));
    check_bound(path, number, compared.about, compared.peer.name, compared.peer.measurement, 0);
    const std::string shape = format_shape(workload_from_json(compared.about.workload));
    std::vector<double>& ratios =
        ratios_[fmt::format("{}'s time / {}'s", compared.peer.name, compared.about.kernel)];
    if (!compared.measurement.unsettled && !compared.peer.measurement.unsettled) {
        ratios.push_back(compared.ratio);
    }
    // Ours stands in a row for each peer: it is said once.
    const auto note = [&](std::string_view side, const Measurement& measured) {
        if (measured.unsettled) {
            unsettled_[fmt::format("{} on {}", side, shape)] = why_unsettled(measured);
        }
    };
    note(compared.about.kernel, compared.measurement);
    note(compared.peer.name, compared.peer.measurement);
}

std::string ReceiptReport::comparison_lines() const {
    std::string text;
    for (const auto& [what, ratios] : ratios_) {
        double logarithms = 0;
        for (const double ratio : ratios) {
            logarithms += std::log(ratio);
        }
        const auto count = static_cast<double>(ratios.size());
        text += ratios.empty() ? fmt::format("{}: no settled row\n", what)
                               : fmt::format("{}: geometric mean {:.2f} of {}\n", what,
                                             std::exp(logarithms / count),
                                             counted_text(ratios.size(), "comparison"));
    }
    return text;
}

std::string ReceiptReport::str(const TextStyle& style) const {
    CaseTable table{Device{}};
    std::vector<CaseLine> lines = lines_;
    for (const Measured& one : measured_) {
        lines[one.line].sight = sights_.of(one.row, one.run_began);
    }
    for (CaseLine& line : lines) {
        table.add(std::move(line));
    }
    for (const auto& [what, why] : unsettled_) {
        table.leave_out(what, why);
    }
    std::string text = device_text_.empty() ? "" : inked(device_text_, Ink::heading, style) + "\n";
    text += table.str(CaseTable::Columns::all, style) + others_.str(style) + comparison_lines();
    for (const std::string& warm : from_cache_) {
        text += warm + "\n";
    }
    if (overcounted_) {
        text +=
            "Rows here are of a model that counted more than the kernels do, and was mended: they "
            "are held to the bound of the problem alone\n";
    }
    if (copies_ > 0) {
        text += fmt::format("{} {}\n", counted_text(copies_, "row"), counted_once);
    }
    if (stale_ > 0) {
        text += stale_ == 1
                    ? std::string("1 row is stale: its kernel has changed since\n")
                    : fmt::format("{} rows are stale: their kernels have changed since\n", stale_);
    }
    return text;
}

}  // namespace raceline
