// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_flash/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace raceline::kernels::cpu_flash {

RowEnd end_row(const AttentionArgs& a, std::int64_t head, float peak, float sum,
               float value_scale) {
    // No keys: the sum is 0 whatever the peak was initialised with, and the sink does not count.
    if (sum == 0.0F) {
        return {0.0F, -std::numeric_limits<float>::infinity()};
    }
    double total = sum;
    if (a.sinks) {
        total += std::exp2(static_cast<double>(a.sinks[head]) * std::numbers::log2e -
                           static_cast<double>(peak));
    }
    const double lse = (static_cast<double>(peak) + std::log2(total)) * std::numbers::ln2;
    return {static_cast<float>(static_cast<double>(value_scale) / total), static_cast<float>(lse)};
}

ScoreForm score_form(const AttentionArgs& a, float k_scale) {
    const float scale = a.scale * k_scale;
    const float size = std::fabs(scale);
    const float sign = scale < 0 ? -1.0F : 1.0F;
    if (a.softcap > 0) {
        return {sign, std::numbers::log2e_v<float>, size / a.softcap, a.softcap};
    }
    // Masked scores are -inf: a factor of 0 would turn them into NaN.
    const float factor = size * std::numbers::log2e_v<float>;
    return {sign, std::max(factor, std::numeric_limits<float>::min()), 0, 0};
}

}  // namespace raceline::kernels::cpu_flash
