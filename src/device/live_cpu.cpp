// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <hwy/targets.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "device/cpu_topology.hpp"
#include "device/datasheet.hpp"
#include "device/known_value.hpp"
#include "support/bf16_tiles.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// The kernels dispatch through Highway, so its answer is what counts, not cpuid alone.
std::int64_t usable_targets() {
    const std::int64_t targets = hwy::SupportedTargets();
#ifdef RACELINE_SIMD_TARGET
    require((targets & RACELINE_SIMD_TARGET) != 0, Status::unsupported,
            "this program is a build of {}, made for the CPU of another machine: this one lacks "
            "those instructions; build it here, or with -DRACELINE_SIMD=all",
            build_info::build_type());
    return targets & RACELINE_SIMD_TARGET;
#else
    return targets;
#endif
}

int widest_vector_bits() {
    const std::int64_t targets = usable_targets();
    if ((targets & (HWY_AVX3 | HWY_AVX3_DL)) != 0) {
        return 512;
    }
    if ((targets & HWY_AVX2) != 0) {
        return 256;
    }
    constexpr auto narrow = HWY_SSSE3 | HWY_SSE4 | HWY_NEON;
    return (targets & narrow) != 0 ? 128 : 32;
}

bool bf16_dot_products() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;  // the bf16 path of the CPU kernels is AVX-512 only
#endif
}

}  // namespace

Device live_cpu() {
    const Device generic = datasheet_device("cpu");
    const CpuTopology found = read_cpu_topology("/", allowed_cpus());
    Device device = generic;
    device.live = true;
    device.year = 0;  // of the generic entry, not of this machine
    if (!found.name.empty()) {
        device.name = found.name;
    }
    device.units = found.cores;
    device.clock_hz = found.clock_hz;
    device.simd_bits = widest_vector_bits();
    device.has_bf16_dot = bf16_dot_products();
    device.has_bf16_tiles = device.has_bf16_dot && may_use_bf16_tiles();
    take_known(device.memory_bytes, found.memory_bytes);
    take_known(device.l1_bytes, found.l1_bytes);
    take_known(device.l2_bytes, found.l2_bytes);
    take_known(device.llc_bytes, found.llc_bytes);
    device.rates.clear();
    read_rates(datasheet_json("cpu"), "devices/cpu.json", generic, device);
    device.rates_id = rates_id_of(device, "datasheet");
    return device;
}

void require_logical_cpus(const Device& device, int threads, std::string_view option) {
    if (!device.live || device.kind != DeviceKind::cpu) {
        return;
    }
    const auto cpus = allowed_cpus().size();
    require(threads <= 0 || static_cast<std::size_t>(threads) <= cpus, Status::invalid_argument,
            "{} {}: this process may run on {} logical CPUs, and more threads than that only take "
            "turns",
            option, threads, cpus);
}

}  // namespace raceline
