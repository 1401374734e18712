// SPDX-License-Identifier: Apache-2.0
#include "model/occupancy.hpp"

#include <algorithm>
#include <limits>

#include "support/check.hpp"
#include "support/rounding.hpp"

namespace raceline {
namespace {

constexpr std::int64_t warp_threads = 32;
constexpr std::int64_t register_unit = 256;  // registers are given to a warp in these portions
constexpr std::int64_t partitions = 4;       // of a unit; each has a fourth of the registers

std::int64_t register_limit(const Device& device, const Counts& counts, std::int64_t warps) {
    const std::int64_t per_warp = round_up(counts.registers * warp_threads, register_unit);
    if (round_up(warps, partitions) * per_warp > device.registers_per_unit) {
        return 0;
    }
    return device.registers_per_unit / partitions / per_warp * partitions / warps;
}

std::int64_t smem_limit(const Device& device, const Counts& counts) {
    // The driver keeps 1 KiB a CTA for itself from compute capability 8.0 on.
    const bool ampere = device.compute_capability >= 80;
    const std::int64_t portion =
        round_up(counts.smem_bytes + (ampere ? 1024 : 0), ampere ? 128 : 256);
    return portion > 0 ? device.smem_bytes_per_unit / portion
                       : std::numeric_limits<std::int64_t>::max();
}

// CTAs that a unit holds; 0: not one.
std::int64_t held_by_unit(const Device& device, const Counts& counts) {
    const std::int64_t warps = divide_up(counts.threads, warp_threads);
    std::int64_t held = device.ctas_per_unit > 0 ? device.ctas_per_unit : 32;
    if (device.threads_per_unit > 0) {
        held = std::min(held, device.threads_per_unit / (warps * warp_threads));
    }
    if (device.registers_per_unit > 0 && counts.registers > 0) {
        held = std::min(held, register_limit(device, counts, warps));
    }
    if (device.smem_bytes_per_unit > 0) {
        held = std::min(held, smem_limit(device, counts));
    }
    const bool fits =
        device.smem_bytes_per_cta == 0 || counts.smem_bytes <= device.smem_bytes_per_cta;
    return fits ? held : 0;
}

}  // namespace

std::string too_large(const Device& device, const Counts& counts) {
    if (device.kind == DeviceKind::cpu || held_by_unit(device, counts) > 0) {
        return {};
    }
    const std::int64_t most =
        device.smem_bytes_per_cta > 0 ? device.smem_bytes_per_cta : device.smem_bytes_per_unit;
    if (most > 0 && counts.smem_bytes > most) {
        return fmt::format("it asks for {} bytes of shared memory a CTA, {} has {}",
                           counts.smem_bytes, device.id, most);
    }
    return fmt::format(
        "it asks for {} threads of {} registers and {} bytes of shared memory a CTA; one unit of "
        "{} has {} threads, {} registers and {} bytes",
        counts.threads, counts.registers, counts.smem_bytes, device.id, device.threads_per_unit,
        device.registers_per_unit, device.smem_bytes_per_unit);
}

int occupancy(const Device& device, const Counts& counts) {
    if (device.kind == DeviceKind::cpu) {
        return 1;
    }
    const std::int64_t held = held_by_unit(device, counts);
    if (held <= 0) {
        fail(Status::unsupported, "launch '{}': {}", counts.launch, too_large(device, counts));
    }
    return static_cast<int>(held);
}

std::int64_t slots(int units, int residents, int cluster) {
    const std::int64_t all = std::int64_t{units} * residents;
    return std::max<std::int64_t>(cluster, all / cluster * cluster);
}

}  // namespace raceline
