// SPDX-License-Identifier: Apache-2.0
// Decode with products of bf16 pairs (see dot-inl.hpp): K of bf16 needs no conversion, V pairs up
// two keys by interleaving their rows. e4m3 becomes bf16 by looking bytes up (VPERMI2B, Intel SDM
// vol. 2), with less work than its arithmetic to floats.
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

/// A unit is 64 bytes of a stored row. Q is exact in bf16; weights are rounded to it. bf16 stands
/// as it is multiplied; a byte of e4m3 is looked up.
template <DType type>
struct Pairs {
    static_assert(type == DType::bf16 || type == DType::e4m3);
    static constexpr bool widens = false;
    static constexpr std::size_t bytes = bytes_of(type);
    static constexpr std::size_t unit = 64 / bytes;              ///< columns
    static constexpr int vectors = int{unit} / int{kLanes};      ///< of a unit's outputs
    static constexpr int parts = int{unit} / (2 * int{kLanes});  ///< of its bf16

    /// Column of a unit of bf16 that stands at place i: blocks of 128 bits of e4m3 come apart into
    /// a lower and an upper half.
    static std::size_t place(std::size_t i) {
        return i % 32 / 8 * (unit / 4) + i / 32 * 8 + i % 8;
    }
    /// Column whose output stands at place i of a unit that was interleaved with that of another
    /// key: in every block of 128 bits four columns go to the first vector, four to the next.
    static std::size_t order(std::size_t i) {
        return i % kLanes / 4 * (unit / 4) + i / kLanes * 4 + i % 4;
    }
    static void pack_query(float* row, std::size_t count) {
        reorder<unit>(row, count, false, place);
        from_float(row, 1.0F, DType::bf16, count, row);
    }
    static void unpack_output(float* row, std::size_t count) {
        reorder<unit>(row, count, true, order);
    }
    /// In place: a weight's two bytes come to stand before the four of those not yet read.
    static void pack_weights(float* p, std::size_t count) {
        from_float(p, 1.0F, DType::bf16, count, p);
    }

    /// The unit at column c; zeros follow the last of `columns` columns. What comes later in the
    /// row is asked for.
    RACELINE_DOT_TARGET static HWY_INLINE __m512i load_at(const std::byte* row, std::size_t c,
                                                          std::size_t columns) {
        const std::byte* at = row + c * bytes;
        hwy::Prefetch(at + kAhead);
        if (columns - c >= unit) {
            return _mm512_loadu_si512(at);
        }
        return _mm512_maskz_loadu_epi8((__mmask64{1} << (columns - c) * bytes) - 1, at);
    }
    /// The table's entry for the lower seven bits of each byte.
    RACELINE_LOOKUP_TARGET static HWY_INLINE __m512i
    of_table(const std::array<std::uint8_t, 128>& table, __m512i bytes_of_index) {
        return _mm512_permutex2var_epi8(_mm512_load_si512(table.data()), bytes_of_index,
                                        _mm512_load_si512(table.data() + 64));
    }
    /// 64 elements of e4m3 as bf16: of every block of 128 bits the lower and the upper eight.
    RACELINE_LOOKUP_TARGET static HWY_INLINE void look_up(__m512i stored, __m512i& first,
                                                          __m512i& second) {
        const __m512i lower = of_table(kBf16OfE4m3.lower, stored);
        const __m512i upper = of_table(kBf16OfE4m3.upper, stored);
        constexpr int a_or_b_and_c = 0xF8;
        const __m512i with_sign = _mm512_ternarylogic_epi32(
            upper, stored, _mm512_set1_epi8(static_cast<char>(0x80)), a_or_b_and_c);
        first = _mm512_unpacklo_epi8(lower, with_sign);
        second = _mm512_unpackhi_epi8(lower, with_sign);
    }
    RACELINE_LOOKUP_TARGET static HWY_INLINE void widen(__m512i stored, __m512i (&to)[parts]) {
        if constexpr (type == DType::bf16) {
            to[0] = stored;
        } else {
            look_up(stored, to[0], to[1]);
        }
    }
    /// Elements of two keys side by side, as pairs.
    RACELINE_LOOKUP_TARGET static HWY_INLINE void interleave(__m512i a, __m512i b,
                                                             __m512i (&to)[vectors]) {
        if constexpr (type == DType::bf16) {
            to[0] = _mm512_unpacklo_epi16(a, b);
            to[1] = _mm512_unpackhi_epi16(a, b);
        } else {
            look_up(_mm512_unpacklo_epi8(a, b), to[0], to[1]);
            look_up(_mm512_unpackhi_epi8(a, b), to[2], to[3]);
        }
    }

    template <int rows, bool /*streamed*/>
    RACELINE_LOOKUP_TARGET static HWY_NOINLINE void dots(const StepRows& k, std::size_t columns,
                                                         RowBlock q, RowBlock scores) {
        __m512 sum[rows][kStreams];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                sum[r][i] = _mm512_setzero_ps();
            }
        }
        for (std::size_t c = 0; c < columns; c += unit) {
            __m512i lanes[kStreams][parts];
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                widen(load_at(k[i], c, columns), lanes[i]);
            }
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                RACELINE_UNROLL
                for (int part = 0; part < parts; ++part) {
                    const auto one =
                        (__m512bh)_mm512_load_si512(q.row(r) + c / 2 + part * int{kLanes});
                    RACELINE_UNROLL
                    for (int i = 0; i < kStreams; ++i) {
                        sum[r][i] = _mm512_dpbf16_ps(sum[r][i], one, (__m512bh)lanes[i][part]);
                    }
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
    RACELINE_LOOKUP_TARGET static HWY_NOINLINE void weigh(const StepRows& v, std::size_t columns,
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
        for (std::size_t c = 0; c < columns; c += unit) {
            __m512i lanes[pairs][vectors];
            RACELINE_UNROLL
            for (int i = 0; i < pairs; ++i) {
                interleave(load_at(v[2 * i], c, columns), load_at(v[2 * i + 1], c, columns),
                           lanes[i]);
            }
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                RACELINE_UNROLL
                for (int part = 0; part < vectors; ++part) {
                    float* const at = out.row(r) + c + part * int{kLanes};
                    __m512 sum = _mm512_load_ps(at);
                    RACELINE_UNROLL
                    for (int i = 0; i < pairs; ++i) {
                        sum = _mm512_dpbf16_ps(sum, weight[r][i], (__m512bh)lanes[i][part]);
                    }
                    _mm512_store_ps(at, sum);
                }
            }
        }
    }
};
#endif

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
