// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include "probe/probes.hpp"
#include "probe/run_steps.hpp"
#include "probe/steps.hpp"
#include "support/check.hpp"

namespace raceline {

std::vector<Ceiling> probe_cpu(const Device& device, int threads, const ProbeProgress& progress,
                               ProbeEffort effort) {
    require(threads >= 0, Status::invalid_argument,
            "threads must be 0 (all {} cores) or more, got {}", device.units, threads);
    const auto sets = probe::vector_loops();
    probe::Setting setting{device, threads == 0 ? device.units : threads, {}, sets.front(), sets};
    if (effort == ProbeEffort::quick) {
        setting.effort = {.seconds = 0.0005, .repetitions = 4};
    }
    std::vector<probe::Step> steps;
    probe::append_memory_steps(setting, steps);
    probe::append_arithmetic_steps(setting, steps);
    probe::spread_dram_laps(setting, steps);

    // The runtime may otherwise start fewer threads than asked for, and a rate would be of those.
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0);
    std::vector<Ceiling> ceilings = probe::run_steps(steps, setting, progress);
    omp_set_dynamic(dynamic);
    return ceilings;
}

}  // namespace raceline
