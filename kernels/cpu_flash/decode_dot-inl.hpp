// SPDX-License-Identifier: Apache-2.0
// Decode with products of bf16 pairs (see dot-inl.hpp): K needs no conversion, V pairs up two keys
// by interleaving their rows.
#if defined(RACELINE_CPU_FLASH_DECODE_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_DECODE_DOT_INL
#undef RACELINE_CPU_FLASH_DECODE_DOT_INL
#else
#define RACELINE_CPU_FLASH_DECODE_DOT_INL
#endif

#include <cstdint>

#include "kernels/cpu_flash/decode-inl.hpp"
#include "kernels/cpu_flash/dot-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86
/// Q is exact in bf16; weights are rounded to it.
struct Pairs {
    static constexpr bool widens = false;

    /// A unit of 32 columns interleaved with that of another key: in every block of 128 bits the
    /// lower four columns go to the first vector, the upper four to the second.
    static std::size_t order(std::size_t i) {
        return i % kLanes / 4 * 8 + i % 4 + (i < kLanes ? 0 : 4);
    }
    static void pack_query(float* row, std::size_t count) {
        from_float(row, 1.0F, DType::bf16, count, row);
    }
    static void unpack_output(float* row, std::size_t count) { reorder(row, count, true, order); }
    /// In place: a weight's two bytes come to stand before the four of those not yet read.
    static void pack_weights(float* p, std::size_t count) {
        from_float(p, 1.0F, DType::bf16, count, p);
    }

    /// The unit at column c; zeros follow the last of `columns` columns.
    RACELINE_DOT_TARGET static HWY_INLINE __m512i load_at(const std::byte* row, std::size_t c,
                                                          std::size_t columns) {
        if (columns - c >= kUnit) {
            return _mm512_loadu_si512(row + c * 2);
        }
        return _mm512_maskz_loadu_epi16((__mmask32{1} << (columns - c)) - 1, row + c * 2);
    }

    template <int rows, bool /*streamed*/>
    RACELINE_DOT_TARGET static HWY_NOINLINE void dots(const StepRows& k, std::size_t columns,
                                                      RowBlock q, RowBlock scores) {
        __m512 sum[rows][kStreams];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                sum[r][i] = _mm512_setzero_ps();
            }
        }
        for (std::size_t c = 0; c < columns; c += kUnit) {
            __m512bh lanes[kStreams];
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                lanes[i] = (__m512bh)load_at(k[i], c, columns);
                hwy::Prefetch(k[i] + c * 2 + kAhead);
            }
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                const auto one = (__m512bh)_mm512_load_si512(q.row(r) + c / 2);
                RACELINE_UNROLL
                for (int i = 0; i < kStreams; ++i) {
                    sum[r][i] = _mm512_dpbf16_ps(sum[r][i], one, lanes[i]);
                }
            }
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            store_sums(Vec{sum[r][0]}, Vec{sum[r][1]}, Vec{sum[r][2]}, Vec{sum[r][3]},
                       scores.row(r));
        }
    }

    template <int rows, bool /*streamed*/>
    RACELINE_DOT_TARGET static HWY_NOINLINE void weigh(const StepRows& v, std::size_t columns,
                                                       RowBlock weights, std::size_t step,
                                                       RowBlock out) {
        constexpr int pairs = kStreams / 2;
        __m512bh weight[rows][pairs];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            const float* p = weights.row(r) + step * pairs;
            RACELINE_UNROLL
            for (int i = 0; i < pairs; ++i) {
                weight[r][i] = (__m512bh)_mm512_set1_ps(p[i]);
            }
        }
        for (std::size_t c = 0; c < columns; c += kUnit) {
            __m512bh low[pairs];
            __m512bh high[pairs];
            RACELINE_UNROLL
            for (int i = 0; i < pairs; ++i) {
                const __m512i a = load_at(v[2 * i], c, columns);
                const __m512i b = load_at(v[2 * i + 1], c, columns);
                hwy::Prefetch(v[2 * i] + c * 2 + kAhead);
                hwy::Prefetch(v[2 * i + 1] + c * 2 + kAhead);
                low[i] = (__m512bh)_mm512_unpacklo_epi16(a, b);
                high[i] = (__m512bh)_mm512_unpackhi_epi16(a, b);
            }
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                __m512 a = _mm512_load_ps(out.row(r) + c);
                __m512 b = _mm512_load_ps(out.row(r) + c + kLanes);
                RACELINE_UNROLL
                for (int i = 0; i < pairs; ++i) {
                    a = _mm512_dpbf16_ps(a, weight[r][i], low[i]);
                    b = _mm512_dpbf16_ps(b, weight[r][i], high[i]);
                }
                _mm512_store_ps(out.row(r) + c, a);
                _mm512_store_ps(out.row(r) + c + kLanes, b);
            }
        }
    }
};
#endif

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
