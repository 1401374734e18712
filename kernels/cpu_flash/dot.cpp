// SPDX-License-Identifier: Apache-2.0
// clang-format off: the targets are chosen before Highway is seen
#include "kernels/cpu_flash/highway_targets.hpp"
#include <hwy/targets.h>
// clang-format on

#include "kernels/cpu_flash/engine.hpp"

namespace raceline::kernels::cpu_flash {

bool has_dot() {
#if HWY_ARCH_X86
    return __builtin_cpu_supports("avx512bf16") && (hwy::SupportedTargets() & HWY_AVX3) != 0;
#else
    return false;
#endif
}

bool uses_dot(DType dtype, DType kv_dtype) {
    // e4m3 has fewer exponent and mantissa bits than bf16: it is exact there.
    return dtype == DType::bf16 && (kv_dtype == DType::bf16 || kv_dtype == DType::e4m3) &&
           has_dot();
}

}  // namespace raceline::kernels::cpu_flash
