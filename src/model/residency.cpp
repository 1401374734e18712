// SPDX-License-Identifier: Apache-2.0
#include "model/residency.hpp"

#include <algorithm>

#include "model/constant.hpp"
#include "model/rates.hpp"

namespace raceline {

double hit_fraction(double footprint, double capacity) {
    if (capacity <= 0) {
        return 0;
    }
    return std::clamp(2 - footprint / capacity, 0.0, 1.0);
}

namespace {

constexpr std::string_view sweeps =
    "loads of all SMs over footprints of 8 to 128 MiB again and again, DRAM's bytes by counters: "
    "receipts/h100-sxm/logs/2026-11-25-l2-halves.txt";
// Of what all SMs read, in sizes of a half; and of what each reads for itself, in sizes of the L2.
constexpr Constant shared_kept = probe("l2.shared.kept", 0.9, sweeps);
constexpr Constant shared_lost = probe("l2.shared.lost", 1.1, sweeps);
constexpr Constant own_kept = probe("l2.own.kept", 0.72, sweeps);
constexpr Constant own_lost = probe("l2.own.lost", 0.96, sweeps);
constexpr Constant share_elsewhere = probe(
    "l2.elsewhere", 0.5, "262,058 of 524,288 blocks, and the bytes of the fabric: the same file");

double between(double footprint, double kept, double lost) {
    return std::clamp((lost - footprint) / (lost - kept), 0.0, 1.0);
}

}  // namespace

double at_home_elsewhere(double bytes) {
    return share_elsewhere * bytes;
}

double hits_of(const Device& device, double footprint, bool by_same_unit) {
    const auto whole = static_cast<double>(last_cache_bytes(device));
    if (device.kind == DeviceKind::cpu || whole <= 0) {
        return hit_fraction(footprint, whole);
    }
    const double half = known_seconds(device, "size.l2.half");
    return half <= 0 || by_same_unit ? between(footprint, own_kept * whole, own_lost * whole)
                                     : between(footprint, shared_kept * half, shared_lost * half);
}

std::int64_t last_cache_bytes(const Device& device) {
    return device.llc_bytes > 0 ? device.llc_bytes : device.l2_bytes;
}

std::string_view last_cache_id(const Device& device) {
    return device.kind == DeviceKind::cpu ? "byte.llc" : "byte.l2";
}

double call_footprint(std::span<const Counts> launches) {
    double bytes = 0;
    for (const Counts& launch : launches) {
        for (const char* id : {"byte.dram_read", "byte.dram_write"}) {
            const auto found = launch.work.find(id);
            bytes += found == launch.work.end() ? 0 : found->second;
        }
    }
    return bytes;
}

RereadSplit split_rereads(const Device& device, std::span<const Reread> rereads) {
    RereadSplit split;
    for (const Reread& reread : rereads) {
        const double hits = reread.bytes * hits_of(device, reread.footprint, reread.by_same_unit);
        split.cache += hits;
        split.dram += reread.bytes - hits;
    }
    return split;
}

double copied_between_halves(const Device& device, std::span<const Reread> rereads) {
    double bytes = 0;
    for (const Reread& reread : rereads) {
        if (!reread.by_same_unit) {
            const double once = std::min(reread.bytes, reread.footprint);
            bytes += at_home_elsewhere(once) * hits_of(device, reread.footprint, false);
        }
    }
    return bytes;
}

}  // namespace raceline
