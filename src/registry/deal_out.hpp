// SPDX-License-Identifier: Apache-2.0
// How launches on a CPU deal out tasks to threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/device.hpp"

namespace raceline {

/// Calls `run(first, end)` for pieces of `size` of the numbers below `count`, the last one shorter:
/// a thread for each of the device's units takes them as it gets free.
template <class Run>
void deal_out(const Device& device, std::int64_t count, std::int64_t size, const Run& run) {
#pragma omp parallel for schedule(dynamic) num_threads(std::max(1, device.units))
    for (std::int64_t first = 0; first < count; first += size) {
        run(first, std::min(count, first + size));
    }
}

}  // namespace raceline
