// SPDX-License-Identifier: Apache-2.0
// Products of bf16 pairs by AVX-512 BF16 (VDPBF16PS, Intel SDM vol. 2): each lane adds two products
// of bf16 to a float. Highway 1.0.3 only emulates it, so that these functions carry the instruction
// set as an attribute; they are reached only where has_dot() is true.
#if defined(RACELINE_CPU_FLASH_DOT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_DOT_INL
#undef RACELINE_CPU_FLASH_DOT_INL
#else
#define RACELINE_CPU_FLASH_DOT_INL
#endif

#include <array>
#include <cstdint>

#include "kernels/cpu_flash/gemm-inl.hpp"
#include "kernels/cpu_flash/panel-inl.hpp"
#include "kernels/cpu_flash/scratch.hpp"

// Function attributes add to the target of the surrounding namespace with g++; clang wants all.
#define RACELINE_DOT_TARGET                                                                  \
    __attribute__((                                                                          \
        target("avx512bf16,avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi,bmi2,lzcnt," \
               "popcnt,sse4.2,pclmul,aes")))
/// With look-ups of bytes; reached only where has_lookup() is true.
#define RACELINE_LOOKUP_TARGET                                                         \
    __attribute__((                                                                    \
        target("avx512vbmi,avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,f16c,bmi,bmi2," \
               "lzcnt,popcnt,sse4.2,pclmul,aes")))

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86
struct DotEngine {
    using Unit = std::uint32_t;  ///< two bf16, the lower one first
    static constexpr std::int64_t keys_at_once = 2;

    static void open() {}
    static void close() {}
    /// Pairs that cover `depth` elements.
    static std::size_t steps(std::size_t depth) { return (depth + 1) / 2; }
    /// Units from row to row of V in scratch, and V from key `first` of a block on.
    static std::int64_t value_row(const PrefillScratch& at, std::int64_t /*tile_keys*/) {
        return at.v_row;
    }
    static Broadcasts<Unit> values(const Unit* v, std::int64_t first, std::int64_t row) {
        return {v + first / 2 * row, 1, row};
    }
    template <int vectors>
    static void multiply(Broadcasts<Unit> a, std::size_t rows, const Unit* b, float* c,
                         std::size_t depth, bool accumulate) {
        gemm<DotEngine, vectors>(a, rows, b, c, depth, accumulate);
    }

    /// As Fma::tile, with pairs.
    template <int vectors, int rows>
    RACELINE_DOT_TARGET static HWY_NOINLINE void tile(Broadcasts<Unit> a,
                                                      const Unit* HWY_RESTRICT b,
                                                      float* HWY_RESTRICT c, std::size_t depth,
                                                      bool accumulate) {
        __m512 sum[rows][vectors];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int v = 0; v < vectors; ++v) {
                sum[r][v] =
                    accumulate ? _mm512_load_ps(c + (r * vectors + v) * 16) : _mm512_setzero_ps();
            }
        }
        const Unit* HWY_RESTRICT at = a.data;
        for (std::size_t k = 0; k < depth; ++k, at += a.step, b += vectors * 16) {
            __m512bh lanes[vectors];
            RACELINE_UNROLL
            for (int v = 0; v < vectors; ++v) {
                lanes[v] = (__m512bh)_mm512_load_si512(b + v * 16);
            }
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                const auto one = (__m512bh)_mm512_set1_epi32(static_cast<int>(at[r * a.row]));
                RACELINE_UNROLL
                for (int v = 0; v < vectors; ++v) {
                    sum[r][v] = _mm512_dpbf16_ps(sum[r][v], one, lanes[v]);
                }
            }
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int v = 0; v < vectors; ++v) {
                _mm512_store_ps(c + (r * vectors + v) * 16, sum[r][v]);
            }
        }
    }

    /// Scores -> exponentials rounded to bf16, two keys a unit, in place: row j / 2 is written
    /// after rows j and j + 1 were read. The sums take the exponentials before rounding.
    template <int vectors>
    RACELINE_DOT_TARGET static HWY_NOINLINE void exponentials(float* scores, std::size_t keys,
                                                              float factor,
                                                              const PanelState& state) {
        const F d;
        // cvtne2ps leaves 16 values of one key beside 16 of the next: interleave them.
        alignas(64) static constexpr auto order = [] {
            std::array<std::uint16_t, 32> list{};
            for (std::uint16_t i = 0; i < 32; ++i) {
                list[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 16);
            }
            return list;
        }();
        const __m512i interleave = _mm512_load_si512(order.data());
        Vec peak[vectors];
        Vec sum[vectors];
        load_lanes(state.peak, peak);
        load_lanes(state.sum, sum);
        const Vec scale = hn::Set(d, factor);
        for (std::size_t j = 0; j < keys; j += 2) {
            const float* from = scores + j * vectors * kLanes;
            float* to = scores + j / 2 * vectors * kLanes;
            for (int v = 0; v < vectors; ++v) {
                const Vec p0 = exp2(hn::MulSub(hn::Load(d, from + v * kLanes), scale, peak[v]));
                Vec p1 = hn::Zero(d);
                if (j + 1 < keys) {
                    const Vec s1 = hn::Load(d, from + (v + vectors) * kLanes);
                    p1 = exp2(hn::MulSub(s1, scale, peak[v]));
                }
                sum[v] = hn::Add(sum[v], hn::Add(p0, p1));
                const auto both = (__m512i)_mm512_cvtne2ps_pbh(p1.raw, p0.raw);
                _mm512_store_si512(to + v * kLanes, _mm512_permutexvar_epi16(interleave, both));
            }
        }
        for (int v = 0; v < vectors; ++v) {
            hn::Store(sum[v], d, state.sum + v * kLanes);
        }
    }

    /// Rows of floats, exact in bf16, into pairs along the row, then into lanes.
    static void pack_queries(float* rows, std::size_t row_stride, std::size_t columns, float sign,
                             float* panel, std::size_t stride) {
        for (std::size_t r = 0; r < kLanes; ++r) {
            float* row = rows + r * row_stride;
            from_float(row, sign, DType::bf16, row_stride, row);
        }
        rows_to_panel(rows, row_stride, steps(columns), panel, stride);
    }

    /// Stored elements as bf16.
    static void to_bf16(const CacheRows& cache, std::int64_t key, std::size_t columns,
                        std::uint16_t* to) {
        if (cache.dtype == DType::bf16) {
            std::memcpy(to, cache.row(key), columns * 2);
            return;
        }
        HWY_ALIGN float spare[kHeaddimMost];
        to_float(cache.row(key), cache.dtype, columns, spare);
        from_float(spare, 1.0F, DType::bf16, columns, to);
    }

    static void pack_keys(const CacheRows& k, std::int64_t key0, std::int64_t count,
                          std::size_t columns, float* to, std::int64_t stride) {
        for (std::int64_t j = 0; j < count; ++j) {
            auto* row = reinterpret_cast<std::uint16_t*>(to + j * stride);
            to_bf16(k, key0 + j, columns, row);
            if (columns % 2 != 0) {
                row[columns] = 0;
            }
        }
    }

    /// Two keys a unit. A missing last key is zero: its exponential is zero too, but scratch could
    /// hold NaN.
    static void pack_values(const CacheRows& v, std::int64_t key0, std::int64_t count,
                            std::size_t columns, float* to, std::int64_t stride) {
        const U du;
        const hn::Rebind<std::uint16_t, U> dh;
        HWY_ALIGN std::uint16_t low[kHeaddimMost + 32];
        HWY_ALIGN std::uint16_t high[kHeaddimMost + 32];
        for (std::int64_t j = 0; j < count; j += 2) {
            to_bf16(v, key0 + j, columns, low);
            if (j + 1 < count) {
                to_bf16(v, key0 + j + 1, columns, high);
            } else {
                std::memset(high, 0, columns * 2);
            }
            auto* row = reinterpret_cast<std::uint32_t*>(to + j / 2 * stride);
            // Rows of scratch are whole lines: the last vector may run past the last column.
            for (std::size_t c = 0; c < columns; c += kLanes) {
                const auto even = hn::PromoteTo(du, hn::Load(dh, low + c));
                const auto odd = hn::ShiftLeft<16>(hn::PromoteTo(du, hn::Load(dh, high + c)));
                hn::Store(hn::Or(even, odd), du, row + c);
            }
        }
    }
};
#endif

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
