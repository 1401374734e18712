// SPDX-License-Identifier: Apache-2.0
#include "run/call_caveats.hpp"

#include <fmt/format.h>

#include "device/capability_text.hpp"
#include "support/text_table.hpp"

namespace raceline {

bool lacks_launch_floor(const Device& device, double seconds) {
    constexpr double short_call = 50e-6;
    return device.kind == DeviceKind::cuda && seconds < short_call &&
           !device.rates.contains("floor.launch_graph");
}

std::string why_too_large(double bytes, const Device& device) {
    const auto there = static_cast<double>(device.memory_bytes);
    return there <= 0 || bytes <= there
               ? std::string()
               : fmt::format("it needs {} of memory, and {} has {}; take a smaller shape",
                             format_si(bytes, "B"), device.id, format_si(there, "B"));
}

std::string why_not_compiled(const Device& device) {
    constexpr int least_of_compiler = 75;  // of nvcc 13
    constexpr int least_of_wheels = 80;    // of tools/release.sh and the preset `release`
    const int capability = device.compute_capability;
    const std::string text = capability_text(capability);
    if (device.kind != DeviceKind::cuda || capability <= 0 || capability >= least_of_wheels) {
        return {};
    }
    return capability < least_of_compiler
               ? fmt::format(
                     "it is what the code would take: CUDA 13 compiles for compute "
                     "capability 7.5 and later, and {} has {}",
                     device.id, text)
               : fmt::format(
                     "it is what the code would take: wheels have it for compute "
                     "capability 8.0 and later, and {} has {}; a build with "
                     "RACELINE_CUDA_ARCHS={}-real runs",
                     device.id, text, capability);
}

}  // namespace raceline
