// SPDX-License-Identifier: Apache-2.0
// Which SIMD targets are compiled. Included before any Highway header.
#pragma once

// Vectors are kept in arrays, whose element type must have a size.
// SSSE3 alone is on no CPU of the last fifteen years.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
// Highway 1.0.3 declares its portable target broken under g++ 12; what it would use instead lacks
// bf16 and interleaving. Our tests run on it.
#define HWY_BROKEN_EMU128 0
