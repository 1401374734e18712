// SPDX-License-Identifier: Apache-2.0
// Sinks: one more logit a head, which adds to a softmax's denominator alone.
#pragma once

#include <cmath>

namespace raceline::gpu {

/// Adds a sink, in units of log2, to a row's sum of exponentials, which stands relative to 2^base.
/// Returns the power of 2 that values summed before are to be multiplied by.
__device__ __forceinline__ float add_sink(float sink, float& base, float& sum) {
    const float highest = fmaxf(base, sink);
    const float shift = base - highest;
    sum = sum * exp2f(shift) + exp2f(sink - highest);
    base = highest;
    return shift;
}

}  // namespace raceline::gpu
