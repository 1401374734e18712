// SPDX-License-Identifier: Apache-2.0
// The kinds of data that the gate draws for a workload. Each shows mistakes that another hides.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workload/workload.hpp"

namespace raceline {

/// Numbers of the random streams of one seed.
enum DrawStream : std::uint64_t {
    stream_q,
    stream_k,
    stream_v,
    stream_sinks,
    stream_scales,
    stream_pages,
    stream_channels,
    stream_q_scales,
    stream_non_finite,
    stream_tree,
    stream_tree_garbage
};

enum class Draw : std::int32_t {
    /// Standard normal Q, K and V: every key has about the same weight, so that a lost one shows.
    plain,
    /// One channel of K and, in every other row, two of Q are 8 times as large: logits near ±100,
    /// few keys weigh anything. A missed rescale shows. The first and last values are larger, too.
    outliers,
    /// K and V of mean 1/2: sums grow with the number of keys, and what is cut off them adds up.
    biased,
    /// Q 4 times as large, so that logits have a standard deviation of 4: maxima keep rising.
    peaked,
    /// Plain, with NaN and infinities in a few places of Q, K and V.
    non_finite,
};
inline constexpr std::array all_draws{Draw::plain, Draw::outliers, Draw::biased, Draw::peaked,
                                      Draw::non_finite};
std::string_view name_of(Draw draw);

inline constexpr double outlier_factor = 8;  ///< powers of two: exact in every storage type
inline constexpr double peak_factor = 4;
inline constexpr double draw_bias = 0.5;

/// Whether a query row of Draw::outliers is one with large logits. Rows alternate.
constexpr bool is_outlier_row(std::int64_t token, std::int64_t head, std::uint64_t seed) {
    return ((static_cast<std::uint64_t>(token + head) + seed) & 1U) != 0;
}
/// The channel of K that Draw::outliers amplifies in every key; of Q, in outlier rows, it and the
/// next. MLA takes it from the columns that are not V's.
std::int64_t outlier_channel(const Workload& workload, std::uint64_t seed);

/// A value that is no finite number, and where it goes.
struct NonFinite {
    enum class Tensor : std::int32_t { q, k, v };
    Tensor tensor;
    std::int64_t sequence, token;  ///< query row or key of the sequence
    std::int64_t head, channel;    ///< query head, or KV head
    double value;                  ///< NaN, or an infinity where the type has one
    /// Whether it stands in a value: of MLA, whose values are columns of K, too.
    [[nodiscard]] bool in_value(const Workload& workload) const;
};
/// A few places, seeded: query rows, a key and a value, in KV heads of their own where there are
/// several. Empty for caches in nvfp4, whose elements share scales.
std::vector<NonFinite> non_finite_places(const Workload& workload, std::uint64_t seed);

}  // namespace raceline
