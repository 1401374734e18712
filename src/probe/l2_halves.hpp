// SPDX-License-Identifier: Apache-2.0
// What probes read of an L2 in two halves, taken apart: no device here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace raceline::probe {

/// Which half each SM stands at, and how it tells them apart.
struct UnitSides {
    std::vector<std::uint8_t> sides;     ///< of each SM: 0 or 1; SM 0 is at 0
    std::vector<std::uint32_t> between;  ///< of each SM: cycles above which a block is in the other
    double near_cycles = 0, far_cycles = 0;  ///< means over all SMs

    /// The half where a block is at home that took `unit` so many cycles.
    [[nodiscard]] std::uint8_t home(std::uint32_t unit, std::uint32_t cycles) const {
        return cycles > between[unit] ? static_cast<std::uint8_t>(1 - sides[unit]) : sides[unit];
    }
};

/// From cycles[unit x blocks + block] of an atomic operation. Nothing where the SMs do not fall
/// into two groups that see the same blocks near and far, each of at least a quarter of the SMs.
std::optional<UnitSides> sides_of_units(std::span<const std::uint32_t> cycles, std::size_t units);

struct FootprintTime {
    double footprint = 0;  ///< bytes
    double seconds = 0;    ///< of a load
};

/// Where loads of one SM pass the middle between what they take in the smallest and in the largest
/// of these footprints, on the line between the two beside it. Nothing where the largest takes less
/// than a fifth longer. `sweep` is in the order of footprints.
std::optional<double> footprint_of_half(std::span<const FootprintTime> sweep);

}  // namespace raceline::probe
