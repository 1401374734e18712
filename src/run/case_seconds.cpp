// SPDX-License-Identifier: Apache-2.0
#include "run/case_seconds.hpp"

#include "model/prediction.hpp"
#include "registry/registry.hpp"
#include "run/memory_need.hpp"

namespace raceline {

std::vector<double> seconds_of_cases(std::span<const Case> cases, const Device& device) {
    std::vector<double> all;
    for (const Case& one : cases) {
        const bool on_cpu = device.kind == DeviceKind::cpu;
        const bool runs = on_cpu == (one.kernel->engine == Engine::cpu) &&
                          why_not(*one.kernel, one.workload, one.tile, device).empty() &&
                          why_too_large(*one.kernel, one.tile, one.workload, device).empty();
        all.push_back(runs ? predict(device, one.kernel->counts(one.workload, one.tile, device),
                                     one.options.how)
                                 .seconds
                           : 0);
    }
    return all;
}

}  // namespace raceline
