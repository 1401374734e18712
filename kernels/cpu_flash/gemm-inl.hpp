// SPDX-License-Identifier: Apache-2.0
// The register tile of both products: C[r][lane] (+)= sum over k of A(r, k) * B[k][lane]. Rows of B
// and C are a panel: query rows side by side, so that neither K nor V is ever transposed and the
// softmax needs no sum across lanes. A is broadcast element by element.
#if defined(RACELINE_CPU_FLASH_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_GEMM_INL
#undef RACELINE_CPU_FLASH_GEMM_INL
#else
#define RACELINE_CPU_FLASH_GEMM_INL
#endif

#include <cstdint>

#include "cpu/simd/elements-inl.hpp"

// Accumulators stay in registers only if every loop over them disappears.
#undef RACELINE_UNROLL
#if HWY_TARGET == HWY_EMU128
#define RACELINE_UNROLL
#elif defined(__clang__)
#define RACELINE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RACELINE_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

// 32 registers hold 24 accumulators, a row of B and a broadcast; 16 registers hold 12.
#if HWY_TARGET == HWY_NEON || (HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86)
inline constexpr int kVectorsMost = 4;
constexpr int most_rows(int vectors) {
    return vectors == 1 ? 16 : 24 / vectors;
}
#else
inline constexpr int kVectorsMost = 2;
constexpr int most_rows(int vectors) {
    return vectors == 1 ? 8 : 6;
}
#endif
inline constexpr std::size_t kPanel = kVectorsMost * kLanes;

/// A(r, k) stands at data[r * row + k * step]; a unit is one float or a pair of bf16.
template <class Unit>
struct Broadcasts {
    const Unit* data;
    std::ptrdiff_t row, step;
};

/// Multiplies floats by fused multiply-add.
struct Fma {
    using Unit = float;

    template <int vectors, int rows>
    static HWY_NOINLINE void tile(Broadcasts<float> a, const float* HWY_RESTRICT b,
                                  float* HWY_RESTRICT c, std::size_t depth, bool accumulate) {
        const F d;
        Vec sum[rows][vectors];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int v = 0; v < vectors; ++v) {
                sum[r][v] = accumulate ? hn::Load(d, c + (r * vectors + v) * kLanes) : hn::Zero(d);
            }
        }
        const float* HWY_RESTRICT at = a.data;
        for (std::size_t k = 0; k < depth; ++k, at += a.step, b += vectors * kLanes) {
            Vec lanes[vectors];
            RACELINE_UNROLL
            for (int v = 0; v < vectors; ++v) {
                lanes[v] = hn::Load(d, b + v * kLanes);
            }
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                const Vec one = hn::Set(d, at[r * a.row]);
                RACELINE_UNROLL
                for (int v = 0; v < vectors; ++v) {
                    sum[r][v] = hn::MulAdd(one, lanes[v], sum[r][v]);
                }
            }
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int v = 0; v < vectors; ++v) {
                hn::Store(sum[r][v], d, c + (r * vectors + v) * kLanes);
            }
        }
    }
};

/// Rows [r, r + height) of C, as often as they fit below `end` (at most once unless `again`).
template <class Engine, int vectors, int height, bool again>
HWY_INLINE std::size_t advance(Broadcasts<typename Engine::Unit> a, std::size_t r, std::size_t end,
                               const typename Engine::Unit* b, float* c, std::size_t depth,
                               bool accumulate) {
    while (r + height <= end) {
        Engine::template tile<vectors, height>(
            {a.data + static_cast<std::ptrdiff_t>(r) * a.row, a.row, a.step}, b,
            c + r * vectors * kLanes, depth, accumulate);
        r += height;
        if (!again) {
            break;
        }
    }
    return r;
}

/// All `rows` rows of C, in register tiles as high as the registers allow.
template <class Engine, int vectors>
HWY_INLINE void gemm(Broadcasts<typename Engine::Unit> a, std::size_t rows,
                     const typename Engine::Unit* b, float* c, std::size_t depth, bool accumulate) {
    constexpr int most = most_rows(vectors);
    std::size_t r = advance<Engine, vectors, most, true>(a, 0, rows, b, c, depth, accumulate);
    if constexpr (most > 8) {
        r = advance<Engine, vectors, 8, false>(a, r, rows, b, c, depth, accumulate);
    }
    r = advance<Engine, vectors, 4, false>(a, r, rows, b, c, depth, accumulate);
    r = advance<Engine, vectors, 2, false>(a, r, rows, b, c, depth, accumulate);
    advance<Engine, vectors, 1, false>(a, r, rows, b, c, depth, accumulate);
}

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
