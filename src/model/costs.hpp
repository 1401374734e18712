// SPDX-License-Identifier: Apache-2.0
// A launch's amounts turned into seconds on one device, resource by resource.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline {

inline constexpr std::size_t max_resources = 24;
using Seconds = std::array<double, max_resources>;

/// Seconds that an amount of work takes: with the whole device on it, and on one unit that is
/// alone. With k units at work a unit's share of the device is 1/k, so that its work takes
/// max(alone, k × device).
struct Costs {
    Seconds device{};
    Seconds alone{};
    double dram_read_bytes = 0;

    [[nodiscard]] double with_units(std::size_t resource, std::int64_t units) const {
        const double share = static_cast<double>(units) * device[resource];
        return share > alone[resource] ? share : alone[resource];
    }
};

struct StepCosts {
    double repeat = 1;
    bool in_a_row = false;
    double wait_seconds = 0;  ///< a latency paid at each repeat
    Costs costs;              ///< of one repeat
    bool streams = false;     ///< the kernel names DRAM reads of it
    const Step* counted = nullptr;
    double clock = 0;  ///< under load; 0: not known

    /// Of dependent instructions, with so many CTAs on the unit.
    [[nodiscard]] double chain_seconds(std::int64_t residents) const {
        return clock > 0 && counted != nullptr ? counted->clocks_among(residents) / clock : 0;
    }
};

/// Everything layer 2 needs to know about a launch. Names refer into Counts or to literals.
struct LaunchCosts {
    std::size_t resources = 0;
    std::array<std::string_view, max_resources> names{};
    std::array<std::uint32_t, max_resources> beside{};  ///< bit j: overlaps with resource j
    std::array<bool, max_resources> shared{};           ///< one for all units, not one a unit
    Costs mean;                                         ///< of the average CTA
    std::vector<StepCosts> steps;                       ///< of the heaviest CTA
    /// Seconds a byte read from DRAM costs a CTA that has bytes_in_flight outstanding; 0: not
    /// known.
    double latency_per_byte = 0;
    double clock = 0;       ///< Hz, while it runs; 0: not known
    bool together = false;  ///< the kernel counts its chains with several CTAs on a unit
    /// Warps of a CTA whose waiting for each other the model works out; 0: the kernel counts it.
    double warps = 0;
    /// Of a unit's own resource: how many of it there are, each for its share of the warps (4
    /// schedulers, 1 shared memory); 0: others.
    std::array<double, max_resources> ports{};
    std::array<bool, max_resources> queues{};  ///< warps queue for it
};

/// Index of DRAM among the resources of every launch.
inline constexpr std::size_t dram_index = 0;

/// `warm_hits`: share of first-pass DRAM reads that the last-level cache already holds.
/// Little's law gives latency_per_byte: a CTA with b bytes outstanding reads b / latency.dram.
/// Throws Error(unsupported) if the device lacks a resource that the launch needs.
LaunchCosts launch_costs(const Device& device, const Counts& counts, double warm_hits);

}  // namespace raceline
