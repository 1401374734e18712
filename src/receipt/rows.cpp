// SPDX-License-Identifier: Apache-2.0
// Which members a row of each kind has, and what each may hold. Members that are not named here are
// free.
#include "receipt/rows.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "receipt/members.hpp"

namespace raceline {

using members::Inline;
using members::member;
using members::Named;
using members::Object;
using members::Presence;
using members::Rest;

constexpr auto members_of(const DeviceName*) {
    return std::tuple(member("id", &DeviceName::id, form::name),
                      member("name", &DeviceName::name, form::string),
                      member("driver", &DeviceName::driver, form::string));
}

constexpr auto members_of(const LaunchCase*) {
    return std::tuple(member("cold", &LaunchCase::cold, form::boolean),
                      member("launch_path", &LaunchCase::launch_path, form::string),
                      member("threads", &LaunchCase::threads, form::count),
                      member("regime", &LaunchCase::regime, form::regime, Presence::since_2));
}

inline constexpr std::array workload_members{
    Named{"batch", form::count},     Named{"heads_q", form::count},
    Named{"heads_kv", form::count},  Named{"seqlen_q", form::count},
    Named{"seqlen_k", form::count},  Named{"headdim", form::count},
    Named{"headdim_v", form::count}, Named{"dtype", form::dtype},
    Named{"kv_dtype", form::dtype},  Named{"mask", form::mask},
    Named{"window", form::window},   Named{"softcap", form::amount},
    Named{"sinks", form::boolean},   Named{"page_size", form::count},
};
// Of another operation than attention, which names itself.
inline constexpr std::array operation_members{
    Named{"op", form::name}, Named{"dtype", form::dtype}, Named{"extents", form::fields},
    Named{"scalars", form::fields}, Named{"words", form::texts}};

inline std::span<const Named> members_of_workload(const Json& workload) {
    const std::span<const Named> other(operation_members);
    return !workload.contains("op")     ? std::span<const Named>(workload_members)
           : workload.contains("words") ? other
                                        : other.first(other.size() - 1);
}

constexpr auto members_of(const RowCase*) {
    return std::tuple(member("suite", &RowCase::suite, form::string),
                      member("device", &RowCase::device, form::object),
                      member("kernel", &RowCase::kernel, form::name),
                      member("tile", &RowCase::tile, form::fields),
                      Object<RowCase>{"workload", &RowCase::workload, members_of_workload},
                      member("op", &RowCase::op, form::name, Presence::since_2),
                      member("pass", &RowCase::pass, form::pass, Presence::since_2),
                      member("case", &RowCase::launch, form::object),
                      member("code_hash", &RowCase::code_hash, form::string, Presence::optional));
}

constexpr auto members_of(const Calibrated*) {
    return std::tuple(member("count", &Calibrated::count, form::count),
                      member("hash", &Calibrated::hash, form::string),
                      member("errors", &Calibrated::errors, form::count),
                      member("errors_hash", &Calibrated::errors_hash, form::string),
                      member("left_out", &Calibrated::left_out, form::boolean, Presence::optional));
}

constexpr auto members_of(const Prediction*) {
    return std::tuple(
        member("seconds", &Prediction::seconds, form::amount),
        member("expected_seconds", &Prediction::expected_seconds, form::amount, Presence::optional),
        member("uncalibrated_seconds", &Prediction::uncalibrated_seconds, form::amount,
               Presence::optional),
        member("datasheet_seconds", &Prediction::datasheet_seconds, form::amount,
               Presence::optional),
        member("calibrated", &Prediction::calibrated, form::object, Presence::optional),
        member("limiter", &Prediction::limiter, form::string),
        member("layer1", &Prediction::layer1, form::seconds_by_name),
        member("layer2", &Prediction::layer2, form::seconds_by_name),
        member("band", &Prediction::band, form::band),
        member("rates_id", &Prediction::rates_id, form::string),
        member("sm_clock_hz", &Prediction::sm_clock_hz, form::amount),
        member("model_hash", &Prediction::model_hash, form::string));
}

constexpr auto members_of(const SpeedOfLight*) {
    using S = SpeedOfLight;
    return std::tuple(member("seconds", &S::seconds, form::amount),
                      member("memory_seconds", &S::memory_seconds, form::amount),
                      member("compute_seconds", &S::compute_seconds, form::amount),
                      member("launch_seconds", &S::launch_seconds, form::amount),
                      member("limiter", &S::limiter, form::string),
                      member("engine", &S::engine, form::string),
                      member("arithmetic_intensity", &S::arithmetic_intensity, form::amount),
                      member("ridge", &S::ridge, form::amount),
                      member("bytes_read", &S::bytes_read, form::amount, Presence::optional),
                      member("bytes_written", &S::bytes_written, form::amount, Presence::optional),
                      member("rates", &S::rates, form::string));
}

constexpr auto members_of(const Measurement*) {
    return std::tuple(
        member("seconds_median", &Measurement::seconds_median, form::amount),
        member("seconds_low", &Measurement::seconds_low, form::amount),
        member("seconds_high", &Measurement::seconds_high, form::amount),
        member("seconds_call", &Measurement::seconds_call, form::amount),
        member("samples", &Measurement::samples, form::count, Presence::since_2_of_peers),
        member("disturbed", &Measurement::disturbed, form::count, Presence::since_2),
        member("unsettled", &Measurement::unsettled, form::boolean, Presence::since_2),
        member("disturbance", &Measurement::disturbance, form::string, Presence::since_2),
        member("sm_clock_hz", &Measurement::sm_clock_hz, form::amount, Presence::since_2_of_peers),
        member("power_w", &Measurement::power_w, form::amount, Presence::since_2_of_peers),
        member("settled", &Measurement::settled, form::boolean, Presence::since_2),
        member("throttled", &Measurement::throttled, form::boolean, Presence::since_2));
}

constexpr auto members_of(const Correctness*) {
    using form::amount_or_null;
    return std::tuple(
        member("passed", &Correctness::passed, form::boolean),
        member("relative_rms", &Correctness::relative_rms, amount_or_null),
        member("worst", &Correctness::worst, amount_or_null),
        member("bound", &Correctness::bound, amount_or_null),
        member("bound_worst", &Correctness::bound_worst, amount_or_null, Presence::since_2),
        member("aligned", &Correctness::aligned, amount_or_null, Presence::since_2),
        member("bound_aligned", &Correctness::bound_aligned, amount_or_null, Presence::since_2),
        member("lse_worst", &Correctness::lse_worst, amount_or_null, Presence::since_2),
        member("cases", &Correctness::cases, form::count),
        member("seed", &Correctness::seed, form::seed, Presence::optional),
        member("draws", &Correctness::draws, form::strings, Presence::optional),
        member("why", &Correctness::why, form::string, Presence::optional));
}

constexpr auto members_of(const Ceiling*) {
    return std::tuple(member("resource", &Ceiling::resource, form::name),
                      member("value", &Ceiling::value, form::amount),
                      member("unit", &Ceiling::unit, form::name),
                      member("clock_hz", &Ceiling::clock_hz, form::amount),
                      member("power_w", &Ceiling::power_w, form::amount),
                      member("method", &Ceiling::method, form::string),
                      member("limit", &Ceiling::limit, form::amount));
}

constexpr auto members_of(const PeerVerdict*) {
    return std::tuple(member("passed", &PeerVerdict::passed, form::boolean),
                      Rest<PeerVerdict>{&PeerVerdict::more});
}

constexpr auto members_of(const Peer*) {
    return std::tuple(member("name", &Peer::name, form::name),
                      member("version", &Peer::version, form::string),
                      member("backend", &Peer::backend, form::string),
                      member("correctness", &Peer::correctness, form::object),
                      Rest<Peer>{&Peer::more}, Inline<Peer, Measurement>{&Peer::measurement, true});
}

constexpr auto members_of(const PredictionRow*) {
    using Row = PredictionRow;
    return std::tuple(
        Inline<Row, RowCase>{&Row::about}, member("prediction", &Row::prediction, form::object),
        member("bound", &Row::bound, form::object, Presence::optional),
        member("rates", &Row::rates, form::texts, Presence::optional), Rest<Row>{&Row::more});
}

constexpr auto members_of(const BoundRow*) {
    return std::tuple(member("suite", &BoundRow::suite, form::string),
                      member("device", &BoundRow::device, form::object),
                      Object<BoundRow>{"workload", &BoundRow::workload, members_of_workload},
                      member("op", &BoundRow::op, form::name),
                      member("pass", &BoundRow::pass, form::pass),
                      member("case", &BoundRow::launch, form::object),
                      member("bound", &BoundRow::bound, form::object),
                      member("unserved", &BoundRow::unserved, form::texts, Presence::optional),
                      Rest<BoundRow>{&BoundRow::more});
}

constexpr auto members_of(const MeasurementRow*) {
    using Row = MeasurementRow;
    return std::tuple(
        Inline<Row, RowCase>{&Row::about}, member("prediction_id", &Row::prediction_id, form::id),
        member("correctness", &Row::correctness, form::object),
        member("measurement", &Row::measurement, form::object_or_null), Rest<Row>{&Row::more});
}

constexpr auto members_of(const CheckRow*) {
    using Row = CheckRow;
    return std::tuple(Inline<Row, RowCase>{&Row::about},
                      member("correctness", &Row::correctness, form::object),
                      Rest<Row>{&Row::more});
}

constexpr auto members_of(const RefusalRow*) {
    using Row = RefusalRow;
    return std::tuple(Inline<Row, RowCase>{&Row::about}, member("reason", &Row::reason, form::name),
                      Rest<Row>{&Row::more});
}

constexpr auto members_of(const ComparisonRow*) {
    using Row = ComparisonRow;
    return std::tuple(Inline<Row, RowCase>{&Row::about},
                      member("prediction_id", &Row::prediction_id, form::id, Presence::optional),
                      member("correctness", &Row::correctness, form::object, Presence::optional),
                      member("measurement", &Row::measurement, form::object),
                      member("peer", &Row::peer, form::object),
                      member("ratio", &Row::ratio, form::amount),
                      member("ratio_low", &Row::ratio_low, form::amount),
                      member("ratio_high", &Row::ratio_high, form::amount), Rest<Row>{&Row::more});
}

constexpr auto members_of(const CountersRow*) {
    using Row = CountersRow;
    return std::tuple(member("measurement_id", &Row::measurement_id, form::id),
                      member("counters", &Row::counters, form::object), Rest<Row>{&Row::more});
}

constexpr auto members_of(const CeilingRow*) {
    using Row = CeilingRow;
    return std::tuple(member("suite", &Row::suite, form::string, Presence::optional),
                      member("device", &Row::device, form::object),
                      member("ceiling", &Row::ceiling, form::object), Rest<Row>{&Row::more});
}

constexpr auto members_of(const DeviceRow*) {
    return std::tuple(member("device", &DeviceRow::device, form::object),
                      Rest<DeviceRow>{&DeviceRow::more});
}

constexpr auto members_of(const KernelRow*) {
    return std::tuple(member("kernel", &KernelRow::kernel, form::name),
                      Rest<KernelRow>{&KernelRow::more});
}

namespace {

// Of schema 1 an interval says what `unsettled` would.
void fill_in(Measurement& m, const Json& from) {
    m.unsettled = from.contains("unsettled") ? m.unsettled : is_wide(m);
}
void fill_in(MeasurementRow& row, const Json& from) {
    if (row.measurement) {
        fill_in(*row.measurement, from.at("measurement"));
    }
}
void fill_in(ComparisonRow& row, const Json& from) {
    fill_in(row.measurement, from.at("measurement"));
    fill_in(row.peer.measurement, from.at("peer"));
}
template <class Value>
void fill_in(Value&, const Json&) {}

}  // namespace

bool is_wide(const Measurement& m) {
    return !(m.seconds_high - m.seconds_low <= settled_width * m.seconds_median);
}

template <class Value>
Json row_to_json(const Value& value) {
    return members::written(value);
}

template <class Value>
Value row_from_json(const Json& row, int schema) {
    require(row.is_object(), Status::corrupt, "a row must be an object, this is {}",
            row.type_name());
    Value value;
    members::read(value, {row, "", schema});
    fill_in(value, row);
    return value;
}

template <class Value>
Value row_from_json(const Json& row) {
    return row_from_json<Value>(row, row.is_object() ? row.value("schema", 1) : 1);
}

#define RACELINE_ROW(Value)                           \
    template Json row_to_json(const Value&);          \
    template Value row_from_json<Value>(const Json&); \
    template Value row_from_json<Value>(const Json&, int)
RACELINE_ROW(RowCase);
RACELINE_ROW(SpeedOfLight);
RACELINE_ROW(Prediction);
RACELINE_ROW(Measurement);
RACELINE_ROW(Correctness);
RACELINE_ROW(Ceiling);
RACELINE_ROW(Peer);
RACELINE_ROW(PredictionRow);
RACELINE_ROW(MeasurementRow);
RACELINE_ROW(CheckRow);
RACELINE_ROW(RefusalRow);
RACELINE_ROW(ComparisonRow);
RACELINE_ROW(CountersRow);
RACELINE_ROW(CeilingRow);
RACELINE_ROW(DeviceRow);
RACELINE_ROW(KernelRow);
RACELINE_ROW(BoundRow);
#undef RACELINE_ROW

nlohmann::json plain_case(const Json& row) {
    nlohmann::json plain{{"kernel", row.at("kernel")},
                         {"tile", row.at("tile")},
                         {"workload", row.at("workload")},
                         {"case", row.at("case")}};
    const RowCase usual;
    plain["op"] = row.value("op", usual.op);
    plain["pass"] = row.value("pass", usual.pass);
    if (nlohmann::json& launch = plain["case"]; launch.is_object()) {
        launch.emplace("regime", usual.launch.regime);
    }
    return plain;
}

std::string case_key(const Json& row) {
    return plain_case(row).dump();
}

}  // namespace raceline
