// SPDX-License-Identifier: Apache-2.0
#include "run/call_caveats.hpp"

#include <fmt/format.h>

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

}  // namespace raceline
