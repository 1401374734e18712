// SPDX-License-Identifier: Apache-2.0
// The rows of a receipt as plain values: one struct for each kind, which writer, reader and checker
// share. What every row carries beside its content is in row.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "receipt/values.hpp"
#include "support/json.hpp"

namespace raceline {

/// What a row is about.
struct RowCase {
    std::string suite;  ///< empty: from --shape
    DeviceName device;
    std::string kernel;
    Json tile, workload;           ///< as src/registry and src/workload write them
    std::string op = "attention";  ///< schema 1 has none: attention
    std::string pass = "forward";  ///< schema 1 has none: forward
    LaunchCase launch;             ///< the row's `case`
    std::string code_hash = {};  ///< of the machine code that ran; rows before 2026-11-23 have none
};

/// Another library's verdict: its errors are kept as they were given.
struct PeerVerdict {
    bool passed = false;
    Json more = Json::object();
    bool operator==(const PeerVerdict&) const = default;
};

/// Another library beside ours, timed as ours was.
struct Peer {
    std::string name, version, backend;
    Measurement measurement;
    PeerVerdict correctness;
    Json more = Json::object();
};

// One struct for each kind. `more` holds members that raceline does not know, as scripts add them.

struct PredictionRow {
    static constexpr const char* kind = "prediction";
    RowCase about;
    Prediction prediction;
    SpeedOfLight bound = {};      ///< of the problem; older rows have none
    Json rates = Json::object();  ///< by resource that it rests on: where its rate comes from
    Json more = Json::object();
};

/// The least time of a problem on a device, which `predict` writes above its kernels.
struct BoundRow {
    static constexpr const char* kind = "bound";
    std::string suite;  ///< empty: from --shape
    DeviceName device;
    Json workload;  ///< as src/workload writes it
    std::string op, pass;
    LaunchCase launch;  ///< the row's `case`
    SpeedOfLight bound;
    Json unserved = Json::object();  ///< where no kernel was predicted: reason by kernel
    Json more = Json::object();
};

struct MeasurementRow {
    static constexpr const char* kind = "measurement";
    RowCase about;
    std::string prediction_id;
    Correctness correctness;
    std::optional<Measurement> measurement;  ///< none: the gate failed
    Json more = Json::object();
};

struct CheckRow {
    static constexpr const char* kind = "check";
    RowCase about;
    Correctness correctness;
    Json more = Json::object();
};

struct RefusalRow {
    static constexpr const char* kind = "refusal";
    RowCase about;
    std::string reason;
    Json more = Json::object();
};

struct ComparisonRow {
    static constexpr const char* kind = "comparison";
    RowCase about;
    std::string prediction_id;               ///< may be empty
    std::optional<PeerVerdict> correctness;  ///< of ours
    Measurement measurement;                 ///< of ours
    Peer peer;
    double ratio = 0, ratio_low = 0, ratio_high = 0;  ///< peer's time / ours
    Json more = Json::object();
};

struct CountersRow {
    static constexpr const char* kind = "counters";
    std::string measurement_id;
    Json counters;
    Json more = Json::object();
};

struct CeilingRow {
    static constexpr const char* kind = "ceiling";
    std::string suite;
    DeviceName device;
    Ceiling ceiling;
    Json more = Json::object();
};

struct DeviceRow {
    static constexpr const char* kind = "device";
    DeviceName device;
    Json more = Json::object();
};

struct KernelRow {
    static constexpr const char* kind = "kernel";
    std::string kernel;
    Json more = Json::object();
};

/// The content of a row, in the form of today's schema; of a struct within one, its member.
template <class Value>
Json row_to_json(const Value& value);

/// From a whole row, or a row's content, of schema `schema`. Throws Error(corrupt) naming the first
/// missing or wrong member.
template <class Value>
Value row_from_json(const Json& row, int schema);
/// Of the schema that the row names; content without one is of schema 1.
template <class Value>
Value row_from_json(const Json& row);

/// A case as one plain object {kernel, tile, workload, op, pass, case}, of which rows about the
/// same case have equal ones: members in alphabetical order, what schema 1 did not write filled in.
/// Every question whether two rows are about one case is asked of this. Suite and device stand
/// apart: some ask for the same device, some for the same driver. Throws a Json::exception where a
/// member is missing.
nlohmann::json plain_case(const Json& row);
std::string case_key(const Json& row);

}  // namespace raceline
