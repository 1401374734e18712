// SPDX-License-Identifier: Apache-2.0
// Kernels take exponentials and logarithms in base 2, as the hardware does.
#pragma once

#include <numbers>

namespace raceline {

inline constexpr float log2_e = std::numbers::log2e_v<float>;
inline constexpr float ln_2 = std::numbers::ln2_v<float>;

}  // namespace raceline
