// SPDX-License-Identifier: Apache-2.0
// Rounding to a type on a device, as workload/element.cpp does it on a host, and loads of storage.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "raceline/dtype.hpp"
#include "workload/precision.hpp"

namespace raceline::device_gate {

/// Nearest value with `mantissa` explicit bits, ties to even; normal numbers from 2^lowest on.
static __device__ __noinline__ double nearest(double x, int mantissa, int lowest, double largest,
                                              bool saturates) {
    if (x == 0 || !isfinite(x)) {
        return isinf(x) && saturates ? copysign(largest, x) : x;
    }
    const double step = scalbn(1.0, max(ilogb(x), lowest) - mantissa);
    const double rounded = rint(x / step) * step;
    if (fabs(rounded) <= largest) {
        return rounded;
    }
    return copysign(saturates ? largest : static_cast<double>(INFINITY), x);
}

__device__ __forceinline__ double round_to(double x, Rounding type) {
    switch (type) {
        case Rounding::fp64: return x;
        case Rounding::e4m3_sum:
        case Rounding::fp32: return static_cast<double>(__double2float_rn(x));
        case Rounding::fp32_rz: return static_cast<double>(__double2float_rz(x));
        case Rounding::tf32: return nearest(x, 10, -126, 3.4011621342146535e38, false);
        case Rounding::bf16: return nearest(x, 7, -126, 3.3895313892515355e38, false);
        case Rounding::fp16: return nearest(x, 10, -14, 65504, false);
        case Rounding::e4m3: return nearest(x, 3, -6, 448, true);
    }
    return x;
}

/// Element `i` of storage: a float holds every type exactly.
__device__ __forceinline__ float load(const void* data, DType dtype, std::int64_t i) {
    switch (dtype) {
        case DType::fp32: return static_cast<const float*>(data)[i];
        case DType::fp16: return __half2float(static_cast<const __half*>(data)[i]);
        case DType::bf16: return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
        default: return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[i]);
    }
}

}  // namespace raceline::device_gate
