// SPDX-License-Identifier: Apache-2.0
// What later predictions need of a case that was timed: kept when the file of its rows leaves the
// work tree, in a line of receipts/index.jsonl (form: docs/receipts.md).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "receipt/values.hpp"
#include "support/json.hpp"

namespace raceline {

/// What else a prediction said of a time, in seconds; 0: it did not.
struct OtherTimes {
    double expected = 0;      ///< with committed errors taken out
    double uncalibrated = 0;  ///< without the model's calibrated constants
    double datasheet = 0;     ///< roofline by the datasheet's rates
    double roofline = 0;      ///< layer 1: by the rates of the prediction
    double launch_floor = 0;  ///< layer 1 and what launches take whatever they do

    bool operator==(const OtherTimes&) const = default;
};
OtherTimes other_times(const Prediction& prediction);

/// A case that passed the gate and has a time, with what was predicted for it before. Numbers are
/// those of the rows, to the last digit.
struct PastMeasurement {
    std::string kind;    ///< of its row: measurement, or comparison (timed beside a peer)
    std::string suite;   ///< as written, with all that follows
    Json device;         ///< {id, name, driver}
    std::string kernel;  ///< its name at the time
    Json tile, workload;
    Json launch;  ///< the row's `case`: {cold, launch_path, threads, regime}
    std::string op = "attention", pass = "forward";
    std::string model;     ///< model_hash of the prediction; empty if the file does not have it
    std::string limiter;   ///< as predicted
    std::string written;   ///< when it was measured
    double predicted = 0;  ///< seconds; 0 if the file does not have the prediction
    double measured = 0;   ///< seconds, the median
    OtherTimes others;
    /// False: its program was built from a tree with uncommitted changes, so that nobody can build
    /// it again. It makes a case seen, and counts for nothing else.
    bool counts = true;

    bool operator==(const PastMeasurement&) const = default;
    /// Of its case, whatever the device (rows.hpp).
    [[nodiscard]] std::string case_key() const;
};

/// Of one file's rows, in their order, without those of schema 2 that are unsettled: they count for
/// nothing. Older rows count as they always did, for what left the tree has no interval. Rows of a
/// form that this version does not know are passed over: one of a newer version must not take the
/// others with it.
std::vector<PastMeasurement> past_measurements(std::span<const Json> rows);

/// A file's line of the index: `file`'s members (path, sha256, rows, first_hash, last_hash), a
/// commit that has it, and its measurements. Lines of schema 1 have no columns for OtherTimes.
inline constexpr int index_schema = 2;
Json index_line(const Json& file, std::string_view commit,
                std::span<const PastMeasurement> measurements, int schema = index_schema);

/// The measurements of such a line. Throws a Json::exception if it is none.
std::vector<PastMeasurement> past_measurements_of_line(const Json& line);

/// Files of the index that were committed although every row of theirs is `dirty`: what they
/// measured does not count. No other may join them: `report --check` refuses such rows in committed
/// evidence. docs/receipts.md names them.
std::span<const std::string_view> dirty_files();

/// A receipt file and what it measured.
struct PastFile {
    std::string path;
    std::vector<PastMeasurement> measurements;
    std::string commit, sha256;  ///< of one that left: a commit that has it, and its content's hash
};

/// What was measured by the receipt file at `path`, or, if its name is index.jsonl, by all files
/// that left the tree; either may be compressed. Lines of a receipt file that are no JSON are
/// passed over; an index that has such a line is refused (std::runtime_error naming it).
std::vector<PastFile> read_past(const std::string& path);

/// The same for a folder of the form of receipts/: of every file in its subfolders, and of its
/// index. By path.
std::vector<PastFile> read_past_of_tree(const std::string& folder);

}  // namespace raceline
