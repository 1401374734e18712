// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline {

/// accurate: as exact as the types of a call allow. fast: a kernel may trade accuracy for speed.
/// Today this changes only e4m3 prefill on Hopper, where sums over long contexts lose bits
/// (docs/engines/prefill_sm90_fp8.md). Everywhere else the two are the same.
enum class Accuracy : std::int32_t { accurate = 0, fast = 1 };

}  // namespace raceline
