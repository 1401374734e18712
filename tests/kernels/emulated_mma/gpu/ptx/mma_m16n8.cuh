// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see ampere.cuh.
#pragma once

#include "ampere.cuh"

namespace raceline::ptx {

inline void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2]) {
    test::Ampere::get().multiply(d, a, b, true);
}
inline void mma_m16n8k16_f16(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    test::Ampere::get().multiply(d, a, b, false);
}
inline void mma_m16n8k32_e4m3(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2]) {
    test::Ampere::get().multiply_e4m3(d, a, b);
}

}  // namespace raceline::ptx
