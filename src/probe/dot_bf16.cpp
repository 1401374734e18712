// SPDX-License-Identifier: Apache-2.0
// AVX-512 BF16 by intrinsics: Highway 1.0.3 emulates this product. The target stands on the
// function and not on the file, or inline functions of shared headers would be compiled with
// instructions that other machines lack.
#include "probe/dot_bf16.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace raceline::probe {

#if defined(__x86_64__)

bool has_dot_bf16() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16") != 0;
}

// Twenty chains: latency (5 or 6 cycles) × two ports needs twelve on Zen 5 and on Sapphire Rapids,
// and slack for an uneven schedule.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) double dot_bf16(
    std::uint64_t rounds) {
    constexpr int chains = 20;
    // 0x3f80 is 1 and 0xbf80 is -1: sums stay small and no operand is a constant to the compiler.
    volatile int one = 0x3f803f80;
    volatile int mixed = static_cast<int>(0xbf803f80U);
    const auto left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(one));
    const auto right = reinterpret_cast<__m512bh>(_mm512_set1_epi32(mixed));
    __m512 sums[chains];
    for (int chain = 0; chain < chains; ++chain) {
        sums[chain] = _mm512_set1_ps(static_cast<float>(chain));
    }
    for (std::uint64_t step = 0; step < rounds * 64; ++step) {
#pragma GCC unroll 20
        for (int chain = 0; chain < chains; ++chain) {
            sums[chain] = _mm512_dpbf16_ps(sums[chain], left, right);
        }
    }
    for (int chain = 1; chain < chains; ++chain) {
        sums[0] = _mm512_add_ps(sums[0], sums[chain]);
    }
    asm volatile("" : : "v"(sums[0]));  // the sum must look used, or the loop is dropped
    return static_cast<double>(rounds * 64 * chains) * dot_bf16_flops_per_instruction;
}

#else

bool has_dot_bf16() {
    return false;
}

double dot_bf16(std::uint64_t /*rounds*/) {
    return 0;
}

#endif

}  // namespace raceline::probe
