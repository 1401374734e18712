// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/engine_choice.hpp"
#include "api/predicted_case.hpp"
#include "device/catalog.hpp"
#include "receipt/rows.hpp"
#include "run/call_caveats.hpp"
#include "run/memory_need.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace api {
namespace {

// Of this machine, without any rates laid over it yet; nothing if the name is another device's.
std::optional<Device> live_device(const std::string& name) {
    std::optional<Device> cuda = live_cuda();
    if (name.empty()) {
        return cuda ? *std::move(cuda) : live_cpu();
    }
    if (cuda && cuda->id == name) {  // "cuda" where no file of devices/ has its name
        return cuda;
    }
    const std::string id = device_called(name);
    if (id == "cpu") {
        return live_cpu();
    }
    return cuda && cuda->id == id ? std::move(cuda) : std::nullopt;
}

// By the rates that a call chooses by, and by the best ones known.
struct RatedDevice {
    Device committed, best;
};
RatedDevice rated_device(const std::string& name) {
    const std::optional<Device> live = live_device(name);
    if (!live) {
        const Device& known = committed_device(device_called(name));
        return {known, known};
    }
    RatedDevice rated{*live, *live};
    apply_committed_rates(rated.committed);
    apply_rates(rated.best, std::nullopt);
    return rated;
}

// With known lengths in the place of their bounds.
Workload with_lengths(Workload workload, const KnownLengths& lengths) {
    if (!lengths.q.empty()) {
        workload.seqlens_q = lengths.q;
        workload.seqlen_q = std::ranges::max(lengths.q);
    }
    if (!lengths.k.empty()) {
        check_lengths(lengths.k, workload.seqlen_k);
        workload.seqlens_k.assign(lengths.k.begin(), lengths.k.end());
        workload.seqlen_k = std::ranges::max(workload.seqlens_k);
    }
    validate(workload);
    return workload;
}

PredictedTime time_of(const PredictedCase& predicted) {
    const Prediction& p = predicted.explained.prediction;
    PredictedTime time;
    time.seconds = p.seconds;
    time.expected_seconds = p.expected_seconds;
    time.uncalibrated_seconds = p.uncalibrated_seconds;
    time.limiter = p.limiter;
    time.kernel = predicted.which.kernel->name;
    time.tile = predicted.which.kernel->tile_text(predicted.which.tile);
    time.resources.assign(p.layer1.seconds.begin(), p.layer1.seconds.end());
    time.terms = p.layer2;
    if (p.band) {
        time.band = std::pair(p.band->low, p.band->high);
    }
    time.rates_id = p.rates_id;
    return time;
}

}  // namespace

Device device_of_prediction(const std::string& name, int threads) {
    Device device = rated_device(name).best;
    return device.kind == DeviceKind::cpu && threads > 0
               ? restrict_units(std::move(device), threads)
               : device;
}

PredictedCase predict_workload(const Workload& workload, const std::string& device_name,
                               const std::string& kernel, int threads,
                               const std::string& launch_path, const KnownLengths& lengths) {
    validate(workload);
    require(threads >= 0, Status::invalid_argument, "threads is {}; it must be 0 (all) or more",
            threads);
    PredictedCase predicted;
    auto [committed, device] = rated_device(device_name);
    // Ceilings are those of the whole machine: fewer cores are cut out of it afterwards.
    if (device.kind == DeviceKind::cpu && threads > 0) {
        require_logical_cpus(device, threads, "threads");
        committed = restrict_units(std::move(committed), threads);
        device = restrict_units(std::move(device), threads);
    }
    const EngineChoice choice =
        decide_engine(workload, committed, threads, {.backend = kernel, .must_run = false});
    Case& which = predicted.which;
    which.kernel = choice.kernel;
    which.tile = choice.tile;
    which.workload = with_lengths(workload, lengths);
    which.options.how = launch_case(device, threads);
    if (!launch_path.empty()) {
        const bool known = launch_path == "graph" || launch_path == "stream";
        require(device.kind != DeviceKind::cpu && known, Status::invalid_argument,
                "launch_path is '{}'; it must be graph or stream on a GPU, and empty on a CPU",
                launch_path);
        which.options.how.launch_path = launch_path;
    }
    predicted.explained = explain_case(which, device);
    predicted.device = std::move(device);
    return predicted;
}

PredictedCase predict_forward_case(const ForwardArgs& args, const std::string& device) {
    const Call call = check_forward(args, Place::cpu, Pointers::ignored);
    return predict_workload(call.workload, device, args.options.backend, args.options.threads);
}

PredictedCase predict_decode_case(const DecodeArgs& args, const std::string& device,
                                  const KnownLengths& lengths) {
    const Call call = check_decode(args, {}, Pointers::ignored);
    return predict_workload(call.workload, device, args.options.backend, args.options.threads, {},
                            lengths);
}

PredictedCase predict_shape_case(const std::string& shape, const std::string& device,
                                 const std::string& kernel) {
    return predict_workload(parse_shape(shape), device, kernel, 0);
}

BoundRow bound_of_shape(const std::string& shape, const std::string& device_name) {
    const Device device = device_of_prediction(device_name, 0);
    Case problem;
    problem.workload = parse_shape(shape);
    problem.options.how = launch_case(device, 0);
    if (device.kind != DeviceKind::cpu) {
        problem.options.how.launch_path = "graph";  // the shorter floor
    }
    return bound_row(problem, device);
}

std::string bound_text(const std::string& shape, const std::string& device) {
    return dump_json(row_to_json(bound_of_shape(shape, device)));
}

Json predicted_case_to_json(const PredictedCase& predicted) {
    Json row = row_to_json(prediction_row(predicted.which, predicted.device, predicted.explained));
    const Case& which = predicted.which;
    if (auto why = why_too_large(*which.kernel, which.tile, which.workload, predicted.device);
        !why.empty()) {
        row["too_large"] = std::move(why);
    }
    if (auto why = why_not_compiled(predicted.device); !why.empty()) {
        row["not_compiled"] = std::move(why);
    }
    return row;
}

}  // namespace api

PredictedTime predict_forward(const ForwardArgs& args, const std::string& device) {
    return api::time_of(api::predict_forward_case(args, device));
}

PredictedTime predict_decode(const DecodeArgs& args, const std::string& device) {
    return api::time_of(api::predict_decode_case(args, device));
}

PredictedTime predict_shape(const std::string& shape, const std::string& device,
                            const std::string& kernel) {
    return api::time_of(api::predict_shape_case(shape, device, kernel));
}

ProblemBound predict_bound(const std::string& shape, const std::string& device) {
    const SpeedOfLight b = api::bound_of_shape(shape, device).bound;
    return {b.seconds, b.memory_seconds,       b.compute_seconds, b.launch_seconds, b.limiter,
            b.engine,  b.arithmetic_intensity, b.ridge,           b.rates};
}

std::vector<std::string> devices() {
    return device_ids();
}

}  // namespace raceline
