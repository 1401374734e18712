// SPDX-License-Identifier: Apache-2.0
// Decode by instructions that Highway 1.0.3 does not have. bf16 with products of pairs (see
// dot-inl.hpp): K needs no conversion, V pairs up two keys by interleaving their rows. e4m3 by
// looking bytes up.
#if defined(RACELINE_CPU_FLASH_DECODE_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_DECODE_DOT_INL
#undef RACELINE_CPU_FLASH_DECODE_DOT_INL
#else
#define RACELINE_CPU_FLASH_DECODE_DOT_INL
#endif

#include <array>
#include <cstdint>

#include "kernels/cpu_flash/decode-inl.hpp"
#include "kernels/cpu_flash/dot-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86
/// What is to be done for each of `rows` rows and `vectors` vectors of it, without a loop.
template <int rows, int vectors, class Do>
HWY_INLINE void each(const Do& what) {
    RACELINE_UNROLL
    for (int r = 0; r < rows; ++r) {
        RACELINE_UNROLL
        for (int v = 0; v < vectors; ++v) {
            what(r, v);
        }
    }
}

/// Scores in the making: of rows of Q by the keys of a step.
template <int rows>
struct ScoreSums {
    __m512 of[rows][kStreams];

    HWY_INLINE ScoreSums() {
        each<rows, kStreams>([&](int r, int i) { of[r][i] = _mm512_setzero_ps(); });
    }
    HWY_INLINE void store(RowBlock scores) const {
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            store_sums(Vec{of[r][0]}, Vec{of[r][1]}, Vec{of[r][2]}, Vec{of[r][3]}, scores.row(r));
        }
    }
};

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
        ScoreSums<rows> sum;
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
                    sum.of[r][i] = _mm512_dpbf16_ps(sum.of[r][i], one, lanes[i]);
                }
            }
        }
        sum.store(scores);
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

/// The bf16 of each magnitude of e4m3, as its lower and upper bytes: every one is exact.
struct Bf16OfE4m3 {
    alignas(64) std::array<std::uint8_t, 128> lower{}, upper{};

    constexpr Bf16OfE4m3() {
        for (std::uint32_t magnitude = 0; magnitude < 128; ++magnitude) {
            const std::uint32_t bits = of(magnitude);
            lower[magnitude] = static_cast<std::uint8_t>(bits);
            upper[magnitude] = static_cast<std::uint8_t>(bits >> 8);
        }
    }
    static constexpr std::uint32_t of(std::uint32_t magnitude) {
        if (magnitude == 0x7F) {
            return 0x7FC0;  // NaN
        }
        std::uint32_t exponent = magnitude / 8 + 127 - 7;  // its bias becomes that of bf16
        std::uint32_t mantissa = magnitude % 8;
        if (magnitude < 8) {  // a subnormal: of 2^-6, and bf16 has it normal
            if (magnitude == 0) {
                return 0;
            }
            for (exponent = 127 - 6; mantissa < 8; --exponent) {
                mantissa *= 2;
            }
            mantissa -= 8;
        }
        return exponent << 7 | mantissa << 4;
    }
};
inline constexpr Bf16OfE4m3 kBf16OfE4m3;

/// A cache of e4m3 whose elements are looked up in bf16, the upper half of a float: with AVX-512
/// VBMI (VPERMI2B, Intel SDM vol. 2) that is half of the operations of Widened. Weights and
/// products are floats. A unit is 64 columns, four vectors.
struct LookedUp {
    static constexpr bool widens = false;
    static constexpr std::size_t unit = 64;
    static constexpr int vectors = 4;

    /// Column that stands at place i of a unit: of every block of 16 bytes the lower and the upper
    /// eight come apart, and of both the even and the odd ones.
    static std::size_t order(std::size_t i) {
        const std::size_t lane = i % kLanes;
        const std::size_t vector = i / kLanes;
        return lane / 4 * 16 + vector / 2 * 8 + lane % 4 * 2 + vector % 2;
    }
    static void pack_query(float* row, std::size_t count) {
        reorder<unit>(row, count, false, order);
    }
    static void unpack_output(float* row, std::size_t count) {
        reorder<unit>(row, count, true, order);
    }
    static void pack_weights(float* /*p*/, std::size_t /*count*/) {}

    /// The table's entry for the lower seven bits of each byte.
    RACELINE_LOOKUP_TARGET static HWY_INLINE __m512i
    of_table(const std::array<std::uint8_t, 128>& table, __m512i index) {
        return _mm512_permutex2var_epi8(_mm512_load_si512(table.data()), index,
                                        _mm512_load_si512(table.data() + 64));
    }
    /// The unit at column c; zeros follow the last of `columns` columns. What comes later in this
    /// stream is asked for.
    RACELINE_LOOKUP_TARGET static HWY_INLINE void load(const std::byte* row, std::size_t c,
                                                       std::size_t columns, __m512 (&to)[vectors]) {
        hwy::Prefetch(row + c + kAhead);
        const __m512i stored =
            columns - c >= unit
                ? _mm512_loadu_si512(row + c)
                : _mm512_maskz_loadu_epi8((__mmask64{1} << (columns - c)) - 1, row + c);
        const __m512i lower = of_table(kBf16OfE4m3.lower, stored);
        const __m512i upper = of_table(kBf16OfE4m3.upper, stored);
        constexpr int a_or_b_and_c = 0xF8;
        const __m512i with_sign = _mm512_ternarylogic_epi32(
            upper, stored, _mm512_set1_epi8(static_cast<char>(0x80)), a_or_b_and_c);
        const __m512i halves[2] = {_mm512_unpacklo_epi8(lower, with_sign),
                                   _mm512_unpackhi_epi8(lower, with_sign)};
        RACELINE_UNROLL
        for (int i = 0; i < 2; ++i) {
            to[2 * i] = _mm512_castsi512_ps(_mm512_slli_epi32(halves[i], 16));
            to[2 * i + 1] = _mm512_castsi512_ps(
                _mm512_and_si512(halves[i], _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))));
        }
    }

    template <int rows, bool /*streamed*/>
    RACELINE_LOOKUP_TARGET static HWY_NOINLINE void dots(const StepRows& k, std::size_t columns,
                                                         RowBlock q, RowBlock scores) {
        ScoreSums<rows> sum;
        for (std::size_t c = 0; c < columns; c += unit) {
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                __m512 lanes[vectors];
                load(k[i], c, columns, lanes);
                each<rows, vectors>([&](int r, int v) {
                    const __m512 one = _mm512_load_ps(q.row(r) + c + v * int{kLanes});
                    sum.of[r][i] = _mm512_fmadd_ps(one, lanes[v], sum.of[r][i]);
                });
            }
        }
        sum.store(scores);
    }

    template <int rows, bool /*streamed*/>
    RACELINE_LOOKUP_TARGET static HWY_NOINLINE void weigh(const StepRows& v, std::size_t columns,
                                                          RowBlock weights, std::size_t step,
                                                          RowBlock out) {
        __m512 weight[rows][kStreams];
        each<rows, kStreams>([&](int r, int i) {
            weight[r][i] = _mm512_set1_ps(weights.row(r)[step * kStreams + i]);
        });
        for (std::size_t c = 0; c < columns; c += unit) {
            __m512 sum[rows][vectors];
            each<rows, vectors>([&](int r, int j) {
                sum[r][j] = _mm512_load_ps(out.row(r) + c + j * int{kLanes});
            });
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                __m512 lanes[vectors];
                load(v[i], c, columns, lanes);
                each<rows, vectors>([&](int r, int j) {
                    sum[r][j] = _mm512_fmadd_ps(weight[r][i], lanes[j], sum[r][j]);
                });
            }
            each<rows, vectors>([&](int r, int j) {
                _mm512_store_ps(out.row(r) + c + j * int{kLanes}, sum[r][j]);
            });
        }
    }
};
#endif

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
