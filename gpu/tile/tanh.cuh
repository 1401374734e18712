// SPDX-License-Identifier: Apache-2.0
// tanh for softcaps: score = cap · tanh(product · scale / cap). The cap multiplies whatever tanh is
// off by, so a probability and a log-sum-exp need it to fp32's rounding *relative to itself*;
// tanh.approx is off by 2^-11 (PTX ISA), and 1 - 2 / (e^2x + 1) alone by 1e-7 of 1 however small x
// is, which a cap of 50 turns into 5e-6 of the log-sum-exp.
#pragma once

#include "gpu/ptx/approx_ftz_f32.cuh"

namespace raceline::gpu {

/// Up to where tanh_near_zero holds.
inline constexpr float tanh_near = 0.75F;

/// x + x³·p(x²), minimax for |x| <= tanh_near: off by at most 1.1e-7 of the result, evaluated in
/// fp32. Eight operations, none of them beside the FMA pipe.
__device__ __forceinline__ float tanh_near_zero(float x) {
    const float square = x * x;
    float p = -0.0047694905F;
    p = fmaf(p, square, 0.019664913F);
    p = fmaf(p, square, -0.05339026F);
    p = fmaf(p, square, 0.13326521F);
    p = fmaf(p, square, -0.3333307F);
    return fmaf(x * square, p, x);
}

/// Any x, NaN included, at most 3e-7 of the result off.
__device__ __forceinline__ float tanh_anywhere(float x) {
    constexpr float two_log2_of_e = 2.8853901F;
    const float far =
        1 - 2 * ptx::rcp_approx_ftz_f32(ptx::ex2_approx_ftz_f32(x * two_log2_of_e) + 1);
    return fabsf(x) <= tanh_near ? tanh_near_zero(x) : far;
}

/// x[i] = tanh(x[i] · inner) for all values of a warp's threads, which must be together here. If
/// none is beyond tanh_near, as with logits up to three quarters of a cap, without exponentials.
/// Half of them at a time: results of both ways for all of them took registers that there are not.
template <int count>
__device__ __forceinline__ void warp_tanh(float (&x)[count], float inner) {
    static_assert(count % 2 == 0);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int first = half * (count / 2);
        float largest = 0;
#pragma unroll
        for (int i = 0; i < count / 2; ++i) {
            x[first + i] *= inner;
            largest = fmaxf(largest, fabsf(x[first + i]));  // passes over NaN, which all keep
        }
        if (__any_sync(0xFFFFFFFFU, largest > tanh_near) != 0) {
#pragma unroll
            for (int i = 0; i < count / 2; ++i) {
                x[first + i] = tanh_anywhere(x[first + i]);
            }
        } else {
#pragma unroll
            for (int i = 0; i < count / 2; ++i) {
                x[first + i] = tanh_near_zero(x[first + i]);
            }
        }
    }
}

}  // namespace raceline::gpu
