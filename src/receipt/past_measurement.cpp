// SPDX-License-Identifier: Apache-2.0
#include "receipt/past_measurement.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "raceline/error.hpp"
#include "receipt/rows.hpp"
#include "receipt/stored_text.hpp"

namespace raceline {
namespace {

struct Predicted {
    double seconds = 0;
    std::string model, limiter;
    OtherTimes others;
};

// Schema 1 knew no unsettled rows: what it measured goes on to count.
bool counts(const Json& row, const Measurement& measured) {
    return measured.seconds_median > 0 && (row.value("schema", 1) < 2 || !measured.unsettled);
}

PastMeasurement past(const Json& row, const RowCase& about, double seconds) {
    PastMeasurement m;
    m.kind = row.at("kind").get<std::string>();
    m.suite = about.suite;
    m.device = row.at("device");
    m.kernel = about.kernel;
    m.tile = row.at("tile");
    m.workload = row.at("workload");
    m.launch = row.at("case");
    m.op = about.op;
    m.pass = about.pass;
    m.written = row.at("written").get<std::string>();
    m.measured = seconds;
    const auto git = row.find("git");
    m.counts = git == row.end() || !git->value("dirty", false);
    return m;
}

// None if the row is no time that counts.
std::optional<PastMeasurement> past_of(const Json& row,
                                       const std::map<std::string, Predicted>& predicted) {
    std::optional<PastMeasurement> found;
    std::string id;
    if (row.at("kind") == MeasurementRow::kind) {
        const auto read = row_from_json<MeasurementRow>(row);
        if (read.measurement && read.correctness.passed && counts(row, *read.measurement)) {
            found = past(row, read.about, read.measurement->seconds_median);
            id = read.prediction_id;
        }
    } else if (row.at("kind") == ComparisonRow::kind) {
        const auto read = row_from_json<ComparisonRow>(row);
        if (read.correctness && read.correctness->passed && counts(row, read.measurement)) {
            found = past(row, read.about, read.measurement.seconds_median);
            id = read.prediction_id;
        }
    }
    if (const auto before = predicted.find(id); found && before != predicted.end()) {
        found->predicted = before->second.seconds;
        found->model = before->second.model;
        found->limiter = before->second.limiter;
        found->others = before->second.others;
    }
    return found;
}

std::string message(const std::string& path, std::size_t line, std::string_view what) {
    return path + ": line " + std::to_string(line) + ": " + std::string(what);
}

PastFile read_receipt(const std::string& path, std::istream& in) {
    std::vector<Json> rows;
    for (std::string line; std::getline(in, line);) {
        // Corrupt lines are the business of `report --check`; a build goes on without them.
        if (Json row = Json::parse(line, nullptr, false); row.is_object()) {
            rows.push_back(std::move(row));
        }
    }
    return {path, past_measurements(rows), {}, {}};
}

std::vector<PastFile> read_index(const std::string& path, std::istream& in) {
    std::vector<PastFile> files;
    std::size_t number = 0;
    for (std::string text; std::getline(in, text);) {
        ++number;
        try {
            const Json line = Json::parse(text);
            files.push_back({line.at("path").get<std::string>(), past_measurements_of_line(line),
                             line.value("commit", ""), line.value("sha256", "")});
        } catch (const Json::exception& e) {
            throw std::runtime_error(message(path, number, e.what()));
        }
    }
    return files;
}

}  // namespace

OtherTimes other_times(const Prediction& prediction) {
    const double bound = prediction.layer1.bound_seconds;
    // "launch.cta" is the schedule's, a floor for each wave.
    double floors = 0;
    for (const auto& [term, seconds] : prediction.layer2) {
        floors += term == "launch" || term == "launch.extra" ? seconds : 0;
    }
    return {.expected = prediction.expected_seconds,
            .uncalibrated = prediction.uncalibrated_seconds,
            .datasheet = prediction.datasheet_seconds,
            .roofline = bound,
            .launch_floor = bound > 0 ? bound + floors : 0};
}

std::vector<PastMeasurement> past_measurements(std::span<const Json> rows) {
    std::map<std::string, Predicted> predicted;  // by id
    std::vector<PastMeasurement> all;
    for (const Json& row : rows) {
        try {
            if (row.at("kind") == PredictionRow::kind) {
                const Prediction prediction = row_from_json<PredictionRow>(row).prediction;
                predicted[row.at("id").get<std::string>()] = {
                    prediction.seconds, prediction.model_hash, prediction.limiter,
                    other_times(prediction)};
            } else if (auto found = past_of(row, predicted)) {
                all.push_back(*std::move(found));
            }
        } catch (const Json::exception&) {
            continue;
        } catch (const Error&) {
            continue;
        }
    }
    return all;
}

std::vector<PastFile> read_past(const std::string& path) {
    std::istringstream in(stored_text(path));
    if (is_index_name(path)) {
        return read_index(path, in);
    }
    return {read_receipt(path, in)};
}

std::vector<PastFile> read_past_of_tree(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<PastFile> all;
    const auto add = [&all](const std::string& path) {
        std::ranges::move(read_past(path), std::back_inserter(all));
    };
    std::ranges::for_each(stored_receipts(folder), add);
    std::ranges::for_each(stored_indexes(folder), add);
    std::ranges::sort(all, {}, [](const PastFile& file) {
        // Files are named by the way they were found, lines of the index from the tree's root.
        const fs::path path(file.path);
        return path.parent_path().filename() / path.filename();
    });
    return all;
}

std::string PastMeasurement::case_key() const {
    return raceline::case_key(Json{{"kernel", kernel},
                                   {"tile", tile},
                                   {"workload", workload},
                                   {"op", op},
                                   {"pass", pass},
                                   {"case", launch}});
}

}  // namespace raceline
