// SPDX-License-Identifier: Apache-2.0
// A launch in front that still runs when the emulated one begins, and writes at its end.
#pragma once

#include <cstdint>

namespace raceline::test {

/// What a CTA's loads past the L1 find before it has waited for the launch in front, made from what
/// they find afterwards; null: that launch has ended. Behind the first launch of a call all have.
struct InFront {
    std::uint32_t (*before)(std::uint32_t after) = nullptr;
    unsigned last_waited = ~0U;  ///< a CTA, which run one after the other

    void wait(unsigned cta) { last_waited = cta; }
    [[nodiscard]] std::uint32_t load(std::uint32_t after, unsigned cta) {
        if (last_waited != ~0U && cta < last_waited) {
            before = nullptr;  // the CTAs of another launch
        }
        return before != nullptr && cta != last_waited ? before(after) : after;
    }
};
inline InFront in_front;

}  // namespace raceline::test
