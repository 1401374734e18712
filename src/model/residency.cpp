// SPDX-License-Identifier: Apache-2.0
#include "model/residency.hpp"

#include <algorithm>

namespace raceline {

double hit_fraction(double footprint, double capacity) {
    if (capacity <= 0) {
        return 0;
    }
    return std::clamp(2 - footprint / capacity, 0.0, 1.0);
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

RereadSplit split_rereads(std::span<const Reread> rereads, double capacity) {
    RereadSplit split;
    for (const Reread& reread : rereads) {
        const double hits = reread.bytes * hit_fraction(reread.footprint, capacity);
        split.cache += hits;
        split.dram += reread.bytes - hits;
    }
    return split;
}

}  // namespace raceline
