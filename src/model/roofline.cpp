// SPDX-License-Identifier: Apache-2.0
// Layer 1: no kernel is faster than its work over the machine's ceilings. Source: Williams,
// Waterman, Patterson, "Roofline", Communications of the ACM 52 (2009).
#include <algorithm>

#include "model/prediction.hpp"
#include "model/rates.hpp"

namespace raceline {
namespace {

constexpr std::string_view flop = "flop.";

bool is_flop(std::string_view id) {
    return id.starts_with(flop);
}

// Best engine of the chip: the highest rate of the whole device, whatever the kernel uses.
double best_engine(const Device& device) {
    double best = 0;
    for (auto next = device.rates.lower_bound(flop);
         next != device.rates.end() && is_flop(next->first); ++next) {
        if (!next->first.ends_with(".unit")) {
            best = std::max(best, next->second.value);
        }
    }
    return best;
}

struct Sums {
    double flops = 0;
    double dram_bytes = 0;
    double engine_seconds = 0;  // of the engine that is busy longest
    double engine_rate = 0;
};

void add_work(const Device& device, std::string_view id, double amount, Sums& sums,
              std::map<std::string, double>& seconds) {
    const double rate = ceiling(device, id);
    double& total = seconds[std::string(is_dram(id) ? dram : id)];
    total += amount / rate;
    if (is_dram(id)) {
        sums.dram_bytes += amount;
    } else if (is_flop(id)) {
        sums.flops += amount;
        if (total >= sums.engine_seconds) {
            sums.engine_seconds = total;
            sums.engine_rate = rate;
        }
    }
}

}  // namespace

Roofline roofline(const Device& device, std::span<const Counts> launches) {
    Roofline result;
    Sums sums;
    for (const Counts& launch : launches) {
        for (const auto& [id, amount] : launch.work) {
            if (amount > 0) {
                add_work(device, id, amount, sums, result.seconds);
            }
        }
        const auto amount = [&](const char* id) {
            const auto found = launch.work.find(id);
            return found == launch.work.end() ? 0 : found->second;
        };
        if (const double pairs = std::min(amount("byte.dram_read"), amount("byte.dram_write"));
            pairs > 0) {
            result.seconds[std::string(dram)] += pairs * turnaround_seconds(device);
        }
    }
    for (const auto& [resource, seconds] : result.seconds) {
        if (seconds > result.bound_seconds) {
            result.bound_seconds = seconds;
            result.limiter = resource;
        }
    }
    if (sums.dram_bytes > 0) {
        // The ridge stands at the bandwidth of this very mix of reads and writes.
        const double bandwidth = sums.dram_bytes / result.seconds.at(std::string(dram));
        result.arithmetic_intensity = sums.flops / sums.dram_bytes;
        result.ridge = sums.engine_rate / bandwidth;
        result.ridge_best = best_engine(device) / bandwidth;
    }
    return result;
}

}  // namespace raceline
