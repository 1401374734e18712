// SPDX-License-Identifier: Apache-2.0
#include "probe/l2_halves.hpp"

#include <algorithm>

namespace raceline::probe {
namespace {

constexpr double least_quotient = 1.2;   // of far over near: below, what differs may be slices
constexpr double least_agreement = 0.9;  // of the blocks, among SMs of one side
constexpr double least_share = 0.25;     // of the SMs, on each side

// Between the two heaps, which hold about half of the blocks each.
std::uint32_t middle_of(std::vector<std::uint32_t> cycles) {
    std::ranges::sort(cycles);
    const std::size_t tenth = cycles.size() / 10;
    return (cycles[tenth] + cycles[cycles.size() - 1 - tenth]) / 2;
}

}  // namespace

std::optional<UnitSides> sides_of_units(std::span<const std::uint32_t> cycles, std::size_t units) {
    if (units < 2 || cycles.size() / units < 2) {
        return std::nullopt;
    }
    const std::size_t blocks = cycles.size() / units;
    UnitSides found;
    std::vector<bool> far_of_first;
    double near = 0, far = 0, near_blocks = 0, far_blocks = 0;
    for (std::size_t unit = 0; unit < units; ++unit) {
        const auto own = cycles.subspan(unit * blocks, blocks);
        const std::uint32_t between = middle_of({own.begin(), own.end()});
        std::size_t as_first = 0;
        for (std::size_t block = 0; block < blocks; ++block) {
            const bool is_far = own[block] > between;
            (is_far ? far : near) += own[block];
            (is_far ? far_blocks : near_blocks) += 1;
            if (unit == 0) {
                far_of_first.push_back(is_far);
            }
            as_first += is_far == far_of_first[block] ? 1 : 0;
        }
        const double agreement = static_cast<double>(as_first) / static_cast<double>(blocks);
        if (std::max(agreement, 1 - agreement) < least_agreement) {
            return std::nullopt;
        }
        found.sides.push_back(agreement > 0.5 ? 0 : 1);
        found.between.push_back(between);
    }
    const auto others = static_cast<double>(std::ranges::count(found.sides, 1));
    const double share = others / static_cast<double>(units);
    if (near_blocks == 0 || far_blocks == 0 || share < least_share || share > 1 - least_share) {
        return std::nullopt;
    }
    found.near_cycles = near / near_blocks;
    found.far_cycles = far / far_blocks;
    return found.far_cycles >= least_quotient * found.near_cycles ? std::optional(found)
                                                                  : std::nullopt;
}

std::optional<double> footprint_of_half(std::span<const FootprintTime> sweep) {
    if (sweep.size() < 2 || sweep.back().seconds < least_quotient * sweep.front().seconds) {
        return std::nullopt;
    }
    const double middle = (sweep.front().seconds + sweep.back().seconds) / 2;
    for (std::size_t i = 1; i < sweep.size(); ++i) {
        if (sweep[i].seconds >= middle) {
            const FootprintTime& below = sweep[i - 1];
            const double rise = sweep[i].seconds - below.seconds;
            const double part = rise > 0 ? (middle - below.seconds) / rise : 1;
            return below.footprint + part * (sweep[i].footprint - below.footprint);
        }
    }
    return std::nullopt;
}

}  // namespace raceline::probe
