// SPDX-License-Identifier: Apache-2.0
// Warp-level matrix products d += a·b, 16 × 8, fp32 accumulators. All threads of the warp take
// part; the operands' layout over lanes is that of the PTX manual. Synchronous: no ordering to
// think of.
#pragma once

#include <cstdint>

namespace raceline::ptx {

// clang-format off
#define RACELINE_MMA(NAME, SHAPE) \
    __device__ inline void NAME(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) { \
        asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }
// clang-format on

/// sm_80.
RACELINE_MMA(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
RACELINE_MMA(mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32")
/// sm_89.
RACELINE_MMA(mma_m16n8k32_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")

#undef RACELINE_MMA

}  // namespace raceline::ptx
