// SPDX-License-Identifier: Apache-2.0
// How the steps of a probe are run one after another, on a CPU or a GPU.
#pragma once

#include <vector>

#include "probe/probes.hpp"

namespace raceline::probe {

/// Their ceilings; `progress` hears of each step before it runs, and of the end.
template <class Steps, class Setting>
std::vector<Ceiling> run_steps(const Steps& steps, Setting& setting,
                               const ProbeProgress& progress) {
    std::vector<Ceiling> ceilings;
    int done = 0;
    const int total = static_cast<int>(steps.size());
    for (const auto& step : steps) {
        if (progress) {
            progress(step.what, done++, total);
        }
        step.run(setting, ceilings);
    }
    if (progress) {
        progress("done", total, total);
    }
    return ceilings;
}

}  // namespace raceline::probe
