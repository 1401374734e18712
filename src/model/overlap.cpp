// SPDX-License-Identifier: Apache-2.0
#include "model/overlap.hpp"

#include <bit>
#include <cstddef>

namespace raceline {
namespace {

struct Search {
    std::span<const double> seconds;
    std::span<const std::uint32_t> beside;

    // Takes or leaves the lowest candidate. Leaving it can only pay if it excludes another one.
    [[nodiscard]] StepTime longest(std::uint32_t candidates) const {
        if (candidates == 0) {
            return {};
        }
        const auto i = static_cast<std::size_t>(std::countr_zero(candidates));
        const std::uint32_t others = candidates & (candidates - 1);
        const std::uint32_t compatible = others & ~beside[i];
        StepTime taken = longest(compatible);
        taken.seconds += seconds[i];
        taken.chain |= std::uint32_t{1} << i;
        if (compatible == others) {
            return taken;
        }
        const StepTime left = longest(others);
        return left.seconds > taken.seconds ? left : taken;
    }
};

}  // namespace

StepTime step_time(std::span<const double> seconds, std::span<const std::uint32_t> beside) {
    std::uint32_t used = 0;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (seconds[i] > 0) {
            used |= std::uint32_t{1} << i;
        }
    }
    return Search{seconds, beside}.longest(used);
}

}  // namespace raceline
