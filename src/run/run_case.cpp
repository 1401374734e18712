// SPDX-License-Identifier: Apache-2.0
#include "run/run_case.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "model/prediction.hpp"
#include "model/speed_of_light.hpp"
#include "model/work_rates.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "run/memory_need.hpp"
#include "run/past_errors.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/out_of_memory.hpp"
#include "support/sha256.hpp"
#include "support/statistics.hpp"
#include "support/text_table.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

Json tile_to_json(const TileFields& fields) {
    Json tile = Json::object();
    for (const auto& [name, value] : fields) {
        tile[std::string(name)] = value;
    }
    return tile;
}

CaseResult refused(const Case& which, const Device& device, const RowSink& sink,
                   std::string reason) {
    if (sink.refusals) {
        sink.put(which.kernel->source_hash,
                 RefusalRow{.about = row_case(which, device), .reason = reason});
    }
    CaseResult result;
    result.refusal = std::move(reason);
    return result;
}

std::string reason_against(const Case& which, const Backend& backend) {
    const Device& device = backend.device();
    if (!which.kernel->compiled() && backend.name() != "replay") {
        return "this build has no code for it: it was built without CUDA";
    }
    const bool on_cpu = device.kind == DeviceKind::cpu;
    if (on_cpu != (which.kernel->engine == Engine::cpu)) {
        return why_not(*which.kernel, which.workload, device);
    }
    std::string reason = why_not(*which.kernel, which.workload, which.tile, device);
    // A replayed case ran on another machine.
    return reason.empty() && backend.name() != "replay"
               ? why_too_large(*which.kernel, which.tile, which.workload, device)
               : reason;
}

// The kind of inputs that is timed, and one other; seeds change from run to run, and it with them.
CaseOptions bench_options(CaseOptions options, const Workload& workload) {
    if (options.draws.empty()) {
        std::vector<Draw> others;
        std::ranges::copy_if(draws_of(workload), std::back_inserter(others),
                             [](Draw draw) { return draw != Draw::plain; });
        options.draws = {Draw::plain};
        if (!others.empty()) {
            options.draws.push_back(others[options.seed % others.size()]);
        }
    }
    return options;
}

// The roofline that anyone can draw from a datasheet; 0 for a device without one, or where it lacks
// a rate that the kernel needs.
double datasheet_bound(const Case& which, const Device& device) {
    if (device.kind == DeviceKind::cpu) {
        return 0;
    }
    try {
        // A file is read once a thread: it is asked for at every prediction.
        static thread_local std::map<std::string, Device> sheets;
        auto found = sheets.find(device.id);
        if (found == sheets.end()) {
            found = sheets.emplace(device.id, datasheet_device(device.id)).first;
        }
        const Device& sheet = found->second;
        const auto counts = which.kernel->counts(which.workload, which.tile, sheet);
        return roofline(sheet, counts).bound_seconds;
    } catch (const Error&) {
        return 0;
    }
}

// The model's own time with what stands in for each calibrated constant.
double uncalibrated_seconds(const Case& which, const Device& device) {
    const ConstantWatch watch(ConstantWatch::Calibrated::stand_in);
    const auto counts = which.kernel->counts(which.workload, which.tile, device);
    return predict(device, counts, which.options.how).seconds;
}

// What committed errors of the kernel say: the expected time, and a band around it. Neither is
// under the problem's bound, which no kernel passes.
void take_errors_out(Prediction& prediction, const Case& which, const Device& device,
                     double bound) {
    const std::string_view kernel = which.kernel->name;
    const bool cold = which.options.how.cold;
    const std::vector<double> errors =
        committed_errors().errors_near(kernel, device, cold, prediction.seconds);
    if (!errors.empty()) {
        std::string text;
        for (const double error : errors) {
            text += fmt::format("{:.17g}\n", error);
        }
        const double expected = prediction.seconds / (1 + quantile(errors, 0.5));
        prediction.expected_seconds = std::max(expected, std::min(prediction.seconds, bound));
        prediction.calibrated.errors = static_cast<int>(errors.size());
        prediction.calibrated.errors_hash = sha256_hex(text);
    }
    prediction.band = committed_errors().band(kernel, device, cold, prediction.seconds);
    if (prediction.band) {
        // The errors of a regime and those nearest in time are not the same ones.
        prediction.band->low = std::min(prediction.band->low, prediction.expected_seconds);
        prediction.band->high = std::max(prediction.band->high, prediction.expected_seconds);
        prediction.band->low =
            std::max(prediction.band->low, std::min(prediction.expected_seconds, bound));
    }
}

// A limit of the process, or of what runs beside it, comes before the machine's.
std::string why_memory_ended(const Case& which, const Device& device) {
    return fmt::format(
        "it needs {} of memory, more than this process gets; take a smaller shape",
        format_si(memory_needed(*which.kernel, which.tile, which.workload, device), "B"));
}

}  // namespace

std::string origins_text(const std::map<std::string, std::string>& rates) {
    std::set<std::string> kinds;
    for (const auto& [resource, origin] : rates) {
        // Quotient and clock of one resource are not those of another: they stand in the row.
        const std::size_t of = origin.find(" of ");
        const std::string device = of == std::string::npos ? "" : origin.substr(of + 4);
        kinds.insert(device.empty()
                         ? origin
                         : fmt::format("datasheet x {}", device.substr(0, device.find(' '))));
    }
    return fmt::format("{}", fmt::join(kinds, " + "));
}

PredictionRow prediction_row(const Case& which, const Device& device,
                             const ExplainedPrediction& explained) {
    return {.about = row_case(which, device),
            .prediction = explained.prediction,
            .bound = explained.bound,
            .rates = explained.rates};
}

BoundRow bound_row(const Case& which, const Device& device) {
    return {.suite = which.suite,
            .device = device_name(device),
            .workload = workload_to_json(which.workload),
            .op = which.workload.op,
            .pass = which.workload.pass,
            .launch = which.options.how,
            .bound = speed_of_light(device, which.workload, which.options.how)};
}

DeviceName device_name(const Device& device) {
    return {device.id, device.name, device.driver};
}

RowCase row_case(const Case& which, const Device& device) {
    RowCase about;
    about.suite = which.suite;
    about.device = device_name(device);
    about.kernel = which.kernel->name;
    about.tile = tile_to_json(which.kernel->tile(which.tile));
    about.workload = workload_to_json(which.workload);
    about.op = which.workload.op;
    about.pass = which.workload.pass;
    about.launch = which.options.how;
    about.code_hash = code_hash_of(*which.kernel, device);
    return about;
}

Json RowSink::put(std::string_view kind, std::string_view source_hash, const Json& content) const {
    Json row = make_row(*context, kind, source_hash, content);
    if (writer != nullptr) {
        row = writer->append(std::move(row));
    }
    if (emit) {
        emit(row);
    }
    return row;
}

void RowSink::describe(const Device& device) const {
    const auto content = uncommitted_state(device);
    const std::string text = content ? dump_json(*content) : "";
    if (content && text != described) {
        put(DeviceRow::kind, "", *content);
    }
    described = text;
}

std::string model_hash_of(const Kernel& kernel) {
    return sha256_hex(std::string(build_info::model_hash()) + "\n" +
                      std::string(kernel.source_hash));
}

ExplainedPrediction explain_case(const Case& which, const Device& device, Calibration calibration) {
    const double uncalibrated =
        calibration == Calibration::used ? uncalibrated_seconds(which, device) : 0;
    const ConstantWatch watch(calibration == Calibration::used
                                  ? ConstantWatch::Calibrated::value
                                  : ConstantWatch::Calibrated::stand_in);
    const auto counts = which.kernel->counts(which.workload, which.tile, device);
    Prediction prediction = predict(device, counts, which.options.how);
    prediction.model_hash = model_hash_of(*which.kernel);
    prediction.expected_seconds = prediction.seconds;
    prediction.uncalibrated_seconds = uncalibrated > 0 ? uncalibrated : prediction.seconds;
    prediction.datasheet_seconds = datasheet_bound(which, device);
    const SpeedOfLight bound = speed_of_light(device, which.workload, which.options.how);
    if (calibration == Calibration::used) {
        const CalibratedSet set = calibrated_set(watch.used());
        prediction.calibrated.count = set.count;
        prediction.calibrated.hash = set.hash;
        take_errors_out(prediction, which, device, bound.seconds);
    } else {
        prediction.calibrated.left_out = true;
    }
    return {.prediction = std::move(prediction),
            .constants = watch.used(),
            .bound = bound,
            .rates = rates_of(device, counts)};
}

Prediction predict_case(const Case& which, const Device& device, Calibration calibration) {
    return explain_case(which, device, calibration).prediction;
}

namespace {

// The verdict; a time only beside an answer that is right.
Correctness prove_and_time(const Case& which, Backend& backend,
                           std::optional<Measurement>& measurement) {
    const CaseOptions options = bench_options(which.options, which.workload);
    Correctness verdict = backend.check(*which.kernel, which.tile, which.workload, options);
    // A wrong answer has no time: its row stays, so that the failure is on record.
    if (verdict.passed) {
        const Timed timed = backend.measure(*which.kernel, which.tile, which.workload, options);
        if (timed.outputs.passed) {
            measurement = timed.measurement;
        } else {
            verdict = timed.outputs;
            verdict.why = "what was timed: " + timed.outputs.why;
        }
    }
    return verdict;
}

}  // namespace

CaseResult run_case(const Case& which, Backend& backend, const RowSink& sink) {
    const Device& device = backend.device();
    if (std::string reason = reason_against(which, backend); !reason.empty()) {
        return refused(which, device, sink, std::move(reason));
    }
    CaseResult result;
    result.explained = explain_case(which, device);
    sink.describe(device);
    const Json predicted =
        sink.put(which.kernel->source_hash, prediction_row(which, device, *result.explained));

    try {
        result.correctness = prove_and_time(which, backend, result.measurement);
    } catch (const OutOfMemory& error) {
        return refused(which, device, sink, error.what());
    } catch (const std::bad_alloc&) {
        return refused(which, device, sink, why_memory_ended(which, device));
    }
    sink.put(which.kernel->source_hash,
             MeasurementRow{.about = row_case(which, device),
                            .prediction_id = predicted.at("id").get<std::string>(),
                            .correctness = *result.correctness,
                            .measurement = result.measurement});
    return result;
}

CaseResult check_case(const Case& which, Backend& backend, const RowSink& sink) {
    const Device& device = backend.device();
    if (std::string reason = reason_against(which, backend); !reason.empty()) {
        return refused(which, device, sink, std::move(reason));
    }
    CaseResult result;
    try {
        result.correctness =
            backend.check(*which.kernel, which.tile, which.workload, which.options);
    } catch (const OutOfMemory& error) {
        return refused(which, device, sink, error.what());
    } catch (const std::bad_alloc&) {
        return refused(which, device, sink, why_memory_ended(which, device));
    }
    sink.put(which.kernel->source_hash,
             CheckRow{.about = row_case(which, device), .correctness = *result.correctness});
    return result;
}

}  // namespace raceline
