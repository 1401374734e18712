// SPDX-License-Identifier: Apache-2.0
// Which keys a step of decode takes together, and where their scores stand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu_flash/decode_scratch.hpp"
#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/rows.hpp"

namespace raceline::kernels::cpu_flash {

/// Keys [first, end) dealt to the streams in equal ranges: place kStreams * j + i of a list is key
/// first + j + i * steps. Behind the last key it is repeated.
struct Chunk {
    std::int64_t first, end, steps;

    Chunk(std::int64_t key0, std::int64_t key1)
        : first(key0), end(key1), steps((key1 - key0 + kStreams - 1) / kStreams) {}
    [[nodiscard]] std::size_t places() const { return static_cast<std::size_t>(kStreams * steps); }

    void list(const CacheRows& cache, const std::byte** at) const {
        for (std::int64_t i = 0; i < kStreams; ++i) {
            for (std::int64_t j = 0; j < steps; ++j) {
                at[kStreams * j + i] = cache.row(std::min(first + j + i * steps, end - 1));
            }
        }
    }
    /// Scores of keys outside the span become -inf; most chunks lie inside.
    void hide(KeySpan span, float* scores) const {
        constexpr float none = -std::numeric_limits<float>::infinity();
        for (std::int64_t i = 0; i < kStreams; ++i) {
            const std::int64_t from = first + i * steps;
            const std::int64_t low = std::clamp<std::int64_t>(span.first - from, 0, steps);
            const std::int64_t high =
                std::clamp<std::int64_t>(std::min(span.last, end) - from, low, steps);
            for (std::int64_t j = 0; j < low; ++j) {
                scores[kStreams * j + i] = none;
            }
            for (std::int64_t j = high; j < steps; ++j) {
                scores[kStreams * j + i] = none;
            }
        }
    }
};

}  // namespace raceline::kernels::cpu_flash
