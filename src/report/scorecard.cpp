// SPDX-License-Identifier: Apache-2.0
#include "report/scorecard.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "receipt/rows.hpp"
#include "receipt/stored_text.hpp"
#include "registry/registry.hpp"
#include "report/case_table.hpp"
#include "report/ladder_verdict.hpp"
#include "report/sights.hpp"
#include "report/sound_rows.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

std::string identity_of(const PastMeasurement& row) {
    return row.written + '\n' + nlohmann::json(row.device).dump() + '\n' + row.case_key();
}

// A finding names its file itself.
std::string reason_without(const std::string& path, std::string_view why) {
    const std::string named = path + ": ";
    return std::string(why.substr(why.starts_with(named) ? named.size() : 0));
}

double absolute_error(double predicted, double measured) {
    return std::abs(predicted / measured - 1);
}

// With all digits, since two rows may differ in the last; 0 is no time.
std::string time_words(std::string_view what, std::string_view none, double seconds) {
    return seconds > 0 ? fmt::format("{} {} s", what, seconds) : std::string(none);
}

template <class Row>
Beside beside(std::span<const Row* const> rows, double OtherTimes::* number) {
    std::vector<double> other;
    std::vector<double> model;
    for (const Row* row : rows) {
        if (row->others.*number > 0) {
            other.push_back(absolute_error(row->others.*number, row->measured));
            model.push_back(absolute_error(row->seconds, row->measured));
        }
    }
    return other.empty() ? Beside{} : Beside{other.size(), median(other), median(model)};
}

}  // namespace

Scorecard::Scorecard(std::span<const build_info::EmbeddedSight> committed)
    : sights_(sights_of_this_build(committed)) {}

void Scorecard::add(const std::string& path) {
    std::error_code none;
    if (!files_.insert(fs::weakly_canonical(path, none).string()).second) {
        return;
    }
    if (is_index_name(path)) {
        add_index(path);
    } else {
        add_receipt(path);
    }
}

void Scorecard::add_tree(const std::string& folder) {
    require(
        fs::is_directory(folder), Status::invalid_argument,
        "{}: no such folder; without files the scorecard is of receipts/ in a source tree: run it "
        "in the tree's root, or name receipt files",
        folder);
    std::vector<std::string> paths = stored_receipts(folder);
    std::ranges::move(stored_indexes(folder), std::back_inserter(paths));
    for (const std::string& path : paths) {
        try {
            add(path);
        } catch (const Error& error) {
            if (error.status() != Status::corrupt) {
                throw;
            }
            // Of compressed data that were cut off no row is known; other files have theirs.
            broken_.push_back({path, 0, reason_without(path, error.what())});
        }
    }
}

// Rows as they were written; what was changed or moved becomes a finding.
std::vector<Json> Scorecard::sound_rows(const std::string& path) {
    SoundRows file = sound_rows_of(read_receipts(path));
    for (const std::vector<BadLine>* const list : {&file.broken, &file.changed}) {
        for (const BadLine& bad : *list) {
            broken_.push_back({path, bad.line, bad.reason});
        }
    }
    left_out_.broken += static_cast<int>(file.changed.size());
    return std::move(file.rows);
}

void Scorecard::add_receipt(const std::string& path) {
    const std::vector<Json> rows = sound_rows(path);
    sights_.add(past_measurements(rows));
    const std::map<std::string, std::string> starts = starts_of_runs(rows);
    std::map<std::string, Prediction> predictions;  // by id
    for (const Json& row : rows) {
        const Json& kind = row.at("kind");
        if (kind == PredictionRow::kind) {
            predictions[row.at("id").get<std::string>()] =
                row_from_json<PredictionRow>(row).prediction;
        } else if (kind == MeasurementRow::kind) {
            add_row(path, row, predictions, starts.at(run_of(row)));
        } else if (kind == CountersRow::kind && row.at("counters").contains("limiter")) {
            counted_[row.at("measurement_id").get<std::string>()] =
                row.at("counters").at("limiter").get<std::string>();
        }
    }
}

// A row and its copies, in whatever file or line of the index, were written in one moment.
bool Scorecard::is_new(const PastMeasurement& row, const std::string& where) {
    const std::string identity = identity_of(row);
    const std::string says =
        fmt::format("{}, {}, of a {} tree", time_words("measured", "without a time", row.measured),
                    time_words("predicted", "without a prediction", row.predicted),
                    row.counts ? "clean" : "changed");
    const auto [known, fresh] = measured_.try_emplace(identity, says);
    if (!fresh && known->second != says && contested_.insert(identity).second) {
        broken_.push_back({where, 0,
                           fmt::format("the row of {} written {} is {} here and {} elsewhere: one "
                                       "of the two was changed, and neither counts",
                                       row.kernel, row.written, says, known->second)});
        std::erase_if(rows_, [&](const Row& one) { return identity_of(one.about) == identity; });
    }
    return fresh;
}

void Scorecard::add_row(const std::string& path, const Json& row,
                        const std::map<std::string, Prediction>& predictions,
                        const std::string& run_began) {
    const auto measured = row_from_json<MeasurementRow>(row);
    const auto found = predictions.find(measured.prediction_id);
    PastMeasurement about = measured_by(row);
    about.counts = !row.at("git").at("dirty").get<bool>();
    about.measured = measured.measurement ? measured.measurement->seconds_median : 0;
    about.predicted = found == predictions.end() ? 0 : found->second.seconds;
    if (!is_new(about, path)) {
        return;
    }
    if (!about.counts) {
        ++left_out_.dirty;
        return;
    }
    if (!measured.correctness.passed || !measured.measurement) {
        ++left_out_.failed;
        return;
    }
    if (!why_unsettled(*measured.measurement).empty()) {
        ++left_out_.unsettled;
        return;
    }
    if (found == predictions.end() || !(measured.measurement->seconds_median > 0)) {
        ++left_out_.unpredicted;
        return;
    }
    const Prediction& p = found->second;
    rows_.push_back({.about = std::move(about),
                     .run_began = run_began,
                     .file = {},
                     .id = row.at("id").get<std::string>(),
                     .measured = measured.measurement->seconds_median,
                     .seconds = p.seconds,
                     .others = other_times(p),
                     .limiter = p.limiter,
                     .band = p.band});
}

void Scorecard::add_index(const std::string& path) {
    for (const PastFile& file : read_past(path)) {
        sights_.add(file.measurements);
        std::string began;
        for (const PastMeasurement& past : file.measurements) {
            began = began.empty() ? past.written : std::min(began, past.written);
        }
        for (const PastMeasurement& past : file.measurements) {
            if (past.kind != MeasurementRow::kind || !is_new(past, file.path)) {
                continue;
            }
            if (!past.counts) {
                ++left_out_.dirty;
                continue;
            }
            if (past.model.empty()) {
                ++left_out_.unpredicted;
                continue;
            }
            Row row;
            row.about = past;
            row.file = file.path;
            row.run_began = began;
            row.measured = past.measured;
            row.seconds = past.predicted;
            row.others = past.others;
            row.limiter = past.limiter;
            rows_.push_back(std::move(row));
        }
    }
}

void Scorecard::keep_suites(const std::set<std::string>& suites) {
    std::erase_if(rows_, [&](const Row& row) { return !suites.contains(row.about.suite); });
    left_out_ = {.not_counted = true};
}

ScoreGroup Scorecard::group_of(const Row& row) const {
    const Kernel* kernel = kernel_once_called(row.about.kernel);
    return {.device = device_label(row.about.device),
            .rung = kernel != nullptr && kernel->ladder,
            .kernel = kernel != nullptr ? std::string(kernel->name) : row.about.kernel,
            .regime = regime_of(row.measured),
            .sight = sights_.of(row.about, row.run_began)};
}

Score Scorecard::score_of(const ScoreGroup& group, std::span<const Row* const> rows) const {
    std::vector<double> predicted;
    std::vector<double> measured;
    Score score;
    score.group = group;
    for (const Row* row : rows) {
        predicted.push_back(row->seconds);
        measured.push_back(row->measured);
        if (const auto counted = counted_.find(row->id); counted != counted_.end()) {
            ++score.profiled;
            score.limiter_hits += limiter_hit(row->limiter, counted->second) ? 1 : 0;
        }
    }
    score.accuracy = accuracy(predicted, measured);
    score.expected = beside(rows, &OtherTimes::expected);
    score.uncalibrated = beside(rows, &OtherTimes::uncalibrated);
    score.datasheet = beside(rows, &OtherTimes::datasheet);
    score.roofline = beside(rows, &OtherTimes::roofline);
    score.launch_floor = beside(rows, &OtherTimes::launch_floor);
    return score;
}

std::vector<Score> Scorecard::scores() const {
    return scores_by([this](const Row& row) { return group_of(row); });
}

std::vector<Score> Scorecard::overall_scores() const {
    return scores_by([this](const Row& row) {
        const ScoreGroup group = group_of(row);
        return ScoreGroup{.device = {}, .kernel = {}, .regime = group.regime, .sight = group.sight};
    });
}

std::vector<ScoredRow> Scorecard::scored_rows() const {
    std::vector<ScoredRow> all;
    all.reserve(rows_.size());
    for (const Row& row : rows_) {
        const auto counted = counted_.find(row.id);
        all.push_back({.group = group_of(row),
                       .measured = row.measured,
                       .seconds = row.seconds,
                       .band = row.band,
                       .id = row.id,
                       .file = row.file,
                       .about = row.about,
                       .counted = counted == counted_.end() ? "" : counted->second});
        all.back().about.others = row.others;
        all.back().about.limiter = row.limiter;
    }
    return all;
}

std::vector<Score> Scorecard::scores_by(
    const std::function<ScoreGroup(const Row&)>& group_of_row) const {
    std::map<ScoreGroup, std::vector<const Row*>> groups;
    for (const Row& row : rows_) {
        groups[group_of_row(row)].push_back(&row);
    }
    std::vector<Score> all;
    all.reserve(groups.size());
    for (const auto& [group, rows] : groups) {
        all.push_back(score_of(group, rows));
    }
    return all;
}

std::vector<FirstSightScore> Scorecard::first_sights() const {
    struct OfKernel {
        std::vector<const Row*> rows;
        std::vector<double> all;
        std::map<Regime, std::vector<double>> by_regime;
    };
    std::map<ScoreGroup, OfKernel> kernels;
    for (const Row& row : rows_) {
        ScoreGroup group = group_of(row);
        if (group.sight == Sight::seen) {
            continue;
        }
        const Regime regime = std::exchange(group.regime, Regime{});
        group.sight = Sight{};
        OfKernel& errors = kernels[group];
        errors.rows.push_back(&row);
        errors.all.push_back(absolute_error(row.seconds, row.measured));
        errors.by_regime[regime].push_back(errors.all.back());
    }
    std::vector<FirstSightScore> scores;
    for (const auto& [group, errors] : kernels) {
        const std::span<const Row* const> rows(errors.rows);
        FirstSightScore score{.device = group.device,
                              .kernel = group.kernel,
                              .rung = group.rung,
                              .count = errors.all.size(),
                              .median = median(errors.all),
                              .regimes = {},
                              .uncalibrated = beside(rows, &OtherTimes::uncalibrated),
                              .expected = beside(rows, &OtherTimes::expected)};
        for (const auto& [regime, some] : errors.by_regime) {
            score.regimes[regime] = {.count = some.size(), .median = median(some)};
        }
        scores.push_back(std::move(score));
    }
    return scores;
}

}  // namespace raceline
