// SPDX-License-Identifier: Apache-2.0
#include "api/engine_choice.hpp"

#include <string>

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
    if (reason.empty() && candidates.must_run && kernel.launch == nullptr) {
        reason = "its code is not in this build (built without CUDA)";
    }
    return reason;
}

}  // namespace

LaunchCase launch_case(const Device& device, int threads) {
    const bool cpu = device.kind == DeviceKind::cpu;
    return {.cold = true, .launch_path = cpu ? "parallel" : "stream", .threads = cpu ? threads : 0};
}

EngineChoice choose_engine(const Workload& workload, const Device& device, int threads,
                           const Candidates& candidates) {
    if (!candidates.backend.empty()) {
        find_kernel(candidates.backend);  // refuses an unknown name with the nearest one
    }
    EngineChoice best;
    double best_seconds = 0;
    std::string reasons;
    for (const Kernel& kernel : all_kernels()) {
        const bool asked =
            candidates.backend.empty() ? !kernel.ladder : kernel.name == candidates.backend;
        if (!asked) {
            continue;
        }
        const std::string reason = reason_against(kernel, workload, device, candidates);
        if (!reason.empty()) {
            reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kernel.name, reason);
            continue;
        }
        const auto ranked = ranked_tiles(kernel, workload, device, launch_case(device, threads));
        if (ranked.empty()) {
            continue;
        }
        const double seconds = committed_errors().expected(kernel.name, device, true,
                                                           ranked.front().prediction.seconds);
        if (best.kernel == nullptr || seconds < best_seconds) {
            best = {&kernel, ranked.front().tile, &device};
            best_seconds = seconds;
        }
    }
    if (best.kernel == nullptr) {
        fail(Status::unsupported, "no kernel serves {} on {} ({})", format_shape(workload),
             device.id, reasons.empty() ? "there is none" : reasons);
    }
    return best;
}

}  // namespace raceline::api
