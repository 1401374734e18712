// SPDX-License-Identifier: Apache-2.0
// Sums of products that round where a kernel's do, for the gate's reference.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "workload/oracle.hpp"

namespace raceline {

/// sum[i] += factor * terms[i], each partial sum rounded. float and double round by themselves.
template <class T>
void accumulate(T* sum, T factor, const float* terms, std::int64_t count, Rounding type) {
    if (type == Rounding::fp32 || type == Rounding::fp64) {
        for (std::int64_t i = 0; i < count; ++i) {
            sum[i] += factor * static_cast<T>(terms[i]);
        }
        return;
    }
    if (type == Rounding::fp32_rz) {
        // Cutting the 29 bits that a double has more than a float rounds toward zero, and
        // vectorises.
        for (std::int64_t i = 0; i < count; ++i) {
            const double whole = static_cast<double>(sum[i]) +
                                 static_cast<double>(factor) * static_cast<double>(terms[i]);
            const auto cut = std::bit_cast<std::uint64_t>(whole) & ~((std::uint64_t{1} << 29U) - 1);
            sum[i] = static_cast<T>(std::bit_cast<double>(cut));
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        sum[i] =
            static_cast<T>(round_to(static_cast<double>(sum[i]) +
                                        static_cast<double>(factor) * static_cast<double>(terms[i]),
                                    type));
    }
}

/// Products that the tensor core adds at a time: the k of an 8-bit wgmma.
inline constexpr std::int64_t e4m3_depth = 32;
/// Bits that are kept below the leading one of the largest summand. Two groups have found that out
/// by experiment: 14 bits with the leading one (DeepSeek-V3 technical report, 3.5.2), a result of
/// 13 bits beside sign and exponent (SageAttention2, 3.3).
inline constexpr int e4m3_sum_bits = 13;

/// Adds factors[t] · terms[t · stride + i], t below `depth` (at most e4m3_depth), to sums[i] for
/// every i below `count`: the products are exact, then they and the sum so far are aligned to the
/// largest of them, what stands below is cut off, and the rest is added exactly.
template <class T>
void add_e4m3_products(T* sums, const T* factors, const float* terms, std::int64_t stride,
                       std::int64_t depth, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const auto sum = static_cast<double>(sums[i]);
        double products[e4m3_depth];
        double largest = std::abs(sum);
        for (std::int64_t t = 0; t < depth; ++t) {
            products[t] =
                static_cast<double>(factors[t]) * static_cast<double>(terms[t * stride + i]);
            largest = std::abs(products[t]) > largest ? std::abs(products[t]) : largest;
        }
        if (largest == 0) {
            continue;
        }
        const double unit = std::ldexp(1.0, std::ilogb(largest) - e4m3_sum_bits);
        const double inverse = 1 / unit;  // a power of two: exact
        auto units = static_cast<std::int64_t>(sum * inverse);
        for (std::int64_t t = 0; t < depth; ++t) {
            units += static_cast<std::int64_t>(products[t] * inverse);
        }
        sums[i] = static_cast<T>(static_cast<double>(units) * unit);
    }
}

}  // namespace raceline
