// SPDX-License-Identifier: Apache-2.0
// Devices with round numbers, so that every expected time can be worked out by hand.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "model/prediction.hpp"

namespace raceline {

inline Device device_with(DeviceKind kind, int units,
                          std::initializer_list<std::pair<const char*, double>> rates) {
    Device device;
    device.id = "fixture";
    device.kind = kind;
    device.units = units;
    for (const auto& [id, value] : rates) {
        device.rates[id] = Rate{.value = value, .source = "test", .clock_hz = 0, .note = ""};
    }
    return device;
}

/// 4 cores; a second of work on the whole chip: 4 Tflop, 400 G exponentials or simd operations,
/// 100 GB read, 50 GB written, 200 GB through the last cache.
inline Device cpu4() {
    Device device = device_with(DeviceKind::cpu, 4,
                                {{"flop.fma.fp32", 4e12},
                                 {"op.exp", 4e11},
                                 {"op.simd", 4e11},
                                 {"byte.dram_read", 1e11},
                                 {"byte.dram_write", 5e10},
                                 {"byte.llc", 2e11}});
    device.llc_bytes = 1'000'000;
    return device;
}

/// 10 SMs with 4 CTAs each at most.
inline Device gpu10() {
    Device device = device_with(DeviceKind::cuda, 10,
                                {{"flop.fma.fp32", 1e13},
                                 {"flop.wgmma.bf16", 1e14},
                                 {"byte.dram_read", 1e12},
                                 {"byte.dram_write", 1e12},
                                 {"byte.l2", 4e12}});
    device.compute_capability = 90;
    device.ctas_per_unit = 4;
    device.threads_per_unit = 2048;
    device.registers_per_unit = 65536;
    device.smem_bytes_per_unit = 233472;
    device.smem_bytes_per_cta = 232448;
    device.l2_bytes = device.llc_bytes = 1'000'000;
    return device;
}

inline Counts counts_of(Work work, std::int64_t ctas = 1) {
    Counts counts;
    counts.launch = "main";
    counts.work = std::move(work);
    counts.ctas = ctas;
    return counts;
}

inline double term(const Prediction& prediction, std::string_view name) {
    for (const auto& [known, seconds] : prediction.layer2) {
        if (known == name) {
            return seconds;
        }
    }
    return 0;
}

inline Prediction predict_one(const Device& device, const Counts& counts,
                              const LaunchCase& how = {}) {
    return predict(device, {&counts, 1}, how);
}

}  // namespace raceline
