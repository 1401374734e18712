// SPDX-License-Identifier: Apache-2.0
#include "api/engine_choice.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "run/past_errors.hpp"
#include "support/check.hpp"
#include "tune/best_tile.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::api {
namespace {

// "" if the kernel may be asked at all, else why not.
std::string reason_against(const Kernel& kernel, const Workload& workload, const Device& device,
                           const Candidates& candidates) {
    std::string reason = why_not(kernel, workload, device);
    if (reason.empty() && candidates.must_run && !kernel.compiled()) {
        reason = "its code is not in this build (built without CUDA)";
    }
    return reason;
}

}  // namespace

LaunchCase launch_case(const Device& device, int threads) {
    const bool cpu = device.kind == DeviceKind::cpu;
    return {.cold = true, .launch_path = cpu ? "parallel" : "stream", .threads = cpu ? threads : 0};
}

namespace {

// Two predicted times that differ by less than this are a tie; no median error of the model is
// smaller. Both the model's own times and the expected ones may tie: expected times have errors
// taken out that belong to other shapes, and must not tell apart what the model itself does not.
constexpr double tie = 0.05;

// What a call keeps busy, all resources one after the other: of two kernels that end together the
// one with less of it draws less, and errs by less if something was not foreseen.
double busy_seconds(const Prediction& prediction) {
    double all = 0;
    for (const auto& [resource, seconds] : prediction.layer1.seconds) {
        all += seconds;
    }
    return all;
}

}  // namespace

EngineChoice choose_engine(const Workload& workload, const Device& device, int threads,
                           const Candidates& candidates) {
    // Refuses an unknown name with the nearest one.
    const Kernel* const named =
        candidates.backend.empty() ? nullptr : &find_kernel(candidates.backend);
    struct Served {
        EngineChoice choice;
        double expected, seconds, busy;
    };
    std::vector<Served> served;
    std::string reasons;
    for (const Kernel& kernel : all_kernels()) {
        const bool asked = named == nullptr ? !kernel.ladder : &kernel == named;
        if (!asked) {
            continue;
        }
        const std::string reason = reason_against(kernel, workload, device, candidates);
        if (!reason.empty() && candidates.backend.empty() && kernel.op != workload.op) {
            continue;  // nobody would expect it to
        }
        if (!reason.empty()) {
            reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kernel.name, reason);
            continue;
        }
        const auto ranked = ranked_tiles(kernel, workload, device, launch_case(device, threads));
        if (ranked.empty()) {
            continue;
        }
        const Prediction& first = ranked.front().prediction;
        served.push_back({{&kernel, ranked.front().tile, &device},
                          committed_errors().expected(kernel.name, device, true, first.seconds),
                          first.seconds,
                          busy_seconds(first)});
    }
    if (served.empty()) {
        fail(Status::unsupported, "no kernel serves {} on {} ({})", format_shape(workload),
             device.id, reasons.empty() ? "there is none" : reasons);
    }
    const Served least = *std::ranges::min_element(served, {}, &Served::expected);
    std::erase_if(served, [&](const Served& s) {
        return s.expected > least.expected * (1 + tie) && s.seconds > least.seconds * (1 + tie);
    });
    return std::ranges::min_element(served, {}, &Served::busy)->choice;
}

std::optional<EngineChoice> engine_of_call(const Workload& workload, const Device& device,
                                           int threads) {
    try {
        return decide_engine(workload, device, threads, {.backend = {}, .must_run = false});
    } catch (const Error& error) {
        if (error.status() != Status::unsupported) {
            throw;
        }
        return std::nullopt;
    }
}

std::map<std::string, std::vector<std::string_view>> reasons_of_engines(const Workload& workload,
                                                                        const Device& device) {
    std::map<std::string, std::vector<std::string_view>> of_others;
    std::map<std::string, std::vector<std::string_view>> reasons;
    for (const Kernel& kernel : all_kernels()) {
        const bool on_cpu = device.kind == DeviceKind::cpu;
        const bool its_kind = on_cpu == (kernel.engine == Engine::cpu);
        const bool asked = !kernel.ladder && kernel.computes_other(workload).empty();
        std::string reason = asked ? why_not(kernel, workload, device) : "";
        if (!reason.empty()) {
            (its_kind ? reasons : of_others)[std::move(reason)].push_back(kernel.name);
        }
    }
    return reasons.empty() ? of_others : reasons;
}

}  // namespace raceline::api
