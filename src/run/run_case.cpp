// SPDX-License-Identifier: Apache-2.0
#include "run/run_case.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/registry.hpp"
#include "run/past_errors.hpp"
#include "support/build_info.hpp"
#include "support/sha256.hpp"
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

// `content` after the members of the case, so that every row about a case begins alike.
Json with_case(const Case& which, const Device& device, const Json& content) {
    Json all = case_to_json(which, device);
    all.update(content);
    return all;
}

CaseResult refused(const Case& which, const Device& device, const RowSink& sink,
                   std::string reason) {
    sink.put("refusal", which.kernel->source_hash,
             with_case(which, device, Json{{"reason", reason}}));
    CaseResult result;
    result.refusal = std::move(reason);
    return result;
}

std::string reason_against(const Case& which, const Backend& backend) {
    const Device& device = backend.device();
    if (which.kernel->launch == nullptr && backend.name() != "replay") {
        return "this build has no code for it: it was built without CUDA";
    }
    const bool on_cpu = device.kind == DeviceKind::cpu;
    if (on_cpu != (which.kernel->engine == Engine::cpu)) {
        return why_not(*which.kernel, which.workload, device);
    }
    return which.kernel->why_not(which.workload, which.tile, device);
}

// The kind of inputs that is timed, and one other; seeds change from run to run, and it with them.
CaseOptions bench_options(CaseOptions options) {
    if (options.draws.empty()) {
        constexpr std::array others{Draw::outliers, Draw::biased, Draw::peaked, Draw::non_finite};
        options.draws = {Draw::plain, others[options.seed % others.size()]};
    }
    return options;
}

}  // namespace

Json case_to_json(const Case& which, const Device& device) {
    const LaunchCase& how = which.options.how;
    return Json{
        {"suite", which.suite},
        {"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
        {"kernel", which.kernel->name},
        {"tile", tile_to_json(which.kernel->tile(which.tile))},
        {"workload", workload_to_json(which.workload)},
        {"case",
         {{"cold", how.cold},
          {"launch_path", how.launch_path},
          {"threads", how.threads},
          {"regime", how.regime}}},
    };
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

Prediction predict_case(const Case& which, const Device& device) {
    const auto counts = which.kernel->counts(which.workload, which.tile, device);
    Prediction prediction = predict(device, counts, which.options.how);
    // The model and the kernel's counts together made this number: both are in its hash.
    prediction.model_hash = sha256_hex(std::string(build_info::model_hash()) + "\n" +
                                       std::string(which.kernel->source_hash));
    prediction.band = committed_errors().band(which.kernel->name, device, which.options.how.cold,
                                              prediction.seconds);
    return prediction;
}

CaseResult run_case(const Case& which, Backend& backend, const RowSink& sink) {
    const Device& device = backend.device();
    if (std::string reason = reason_against(which, backend); !reason.empty()) {
        return refused(which, device, sink, std::move(reason));
    }
    CaseResult result;
    result.prediction = predict_case(which, device);
    const Json predicted = sink.put(
        "prediction", which.kernel->source_hash,
        with_case(which, device, Json{{"prediction", prediction_to_json(*result.prediction)}}));

    const CaseOptions options = bench_options(which.options);
    result.correctness = backend.check(*which.kernel, which.tile, which.workload, options);
    // A wrong answer has no time: its row stays, so that the failure is on record.
    if (result.correctness->passed) {
        const Timed timed = backend.measure(*which.kernel, which.tile, which.workload, options);
        if (timed.outputs.passed) {
            result.measurement = timed.measurement;
        } else {
            result.correctness = timed.outputs;
            result.correctness->why = "what was timed: " + timed.outputs.why;
        }
    }
    Json content{{"prediction_id", predicted.at("id")},
                 {"correctness", correctness_to_json(*result.correctness)},
                 {"measurement", nullptr}};
    if (result.measurement) {
        content["measurement"] = measurement_to_json(*result.measurement);
    }
    sink.put("measurement", which.kernel->source_hash, with_case(which, device, content));
    return result;
}

CaseResult check_case(const Case& which, Backend& backend, const RowSink& sink) {
    const Device& device = backend.device();
    if (std::string reason = reason_against(which, backend); !reason.empty()) {
        return refused(which, device, sink, std::move(reason));
    }
    CaseResult result;
    result.correctness = backend.check(*which.kernel, which.tile, which.workload, which.options);
    sink.put(
        "check", which.kernel->source_hash,
        with_case(which, device, Json{{"correctness", correctness_to_json(*result.correctness)}}));
    return result;
}

}  // namespace raceline
