// SPDX-License-Identifier: Apache-2.0
// Products for few rows: lanes along the head dim, so that K and V stream through once and memory
// is the limit. A step takes kStreams keys; a stored row is taken in units of two vectors.
#if defined(RACELINE_CPU_FLASH_DECODE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_DECODE_INL
#undef RACELINE_CPU_FLASH_DECODE_INL
#else
#define RACELINE_CPU_FLASH_DECODE_INL
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <hwy/cache_control.h>

#include "cpu/simd/elements-inl.hpp"
#include "kernels/cpu_flash/gemm-inl.hpp"
#include "kernels/cpu_flash/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

inline constexpr std::size_t kUnit = 2 * kLanes;
// Rows that share a load of K or V; their accumulators have to stay in registers.
inline constexpr int kRowsAtOnce = kVectorsMost == 4 ? 4 : 2;
static_assert(kStreams == 4, "sums are taken four keys at once");

/// Rows of K or V of one step, each already at its head.
using StepRows = const std::byte* [kStreams];

/// Floats of one K/V head and some of its rows.
struct RowBlock {
    float* data;
    std::size_t stride;  ///< floats from row to row
    HWY_INLINE float* row(int r) const { return data + static_cast<std::size_t>(r) * stride; }
};

/// Keeps a loaded vector in a register where several rows use it. Left to itself the compiler loads
/// it anew for each product, and then ports of loads are the limit, not those of multiply-adds.
/// Where loads come from memory that was no faster.
template <int rows>
HWY_INLINE void keep([[maybe_unused]] Vec& v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
    if constexpr (rows > 1) {
        asm("" : "+v"(v.raw));
    }
#endif
}

/// Puts whole units of `row` into the order of registers (`order(i)` is the element at place i), or
/// back.
template <std::size_t unit = kUnit, class Order>
void reorder(float* row, std::size_t count, bool back, const Order& order) {
    float before[unit];
    for (std::size_t c = 0; c < count; c += unit) {
        std::copy_n(row + c, unit, before);
        for (std::size_t i = 0; i < unit; ++i) {
            (back ? row[c + order(i)] : row[c + i]) = back ? before[i] : before[order(i)];
        }
    }
}

/// Sums of four vectors' lanes, side by side.
HWY_INLINE void store_sums(Vec a, Vec b, Vec c, Vec e, float* to) {
    const F d;
    const hn::RepartitionToWide<F> wide;
    const Vec ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
    const Vec ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
    const auto low = hn::InterleaveLower(wide, hn::BitCast(wide, ab), hn::BitCast(wide, ce));
    const auto high = hn::InterleaveUpper(wide, hn::BitCast(wide, ab), hn::BitCast(wide, ce));
    // Each block of four lanes now holds its part of the four sums.
    const Vec sums = hn::Add(hn::BitCast(d, low), hn::BitCast(d, high));
    if constexpr (kLanes == 4) {
        hn::StoreU(sums, d, to);
    } else {
        const hn::Half<F> half;
        const auto h = hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums));
        if constexpr (kLanes == 8) {
            hn::StoreU(h, half, to);
        } else {
            const hn::Half<decltype(half)> quarter;
            hn::StoreU(hn::Add(hn::LowerHalf(quarter, h), hn::UpperHalf(quarter, h)), quarter, to);
        }
    }
}

/// Storage of every type, widened to floats on the way into registers.
template <DType type>
struct Widened {
    static constexpr auto bytes = static_cast<std::size_t>(bytes_of(type));
    /// Where loads cost more than the products of the rows that share them, a step of more rows
    /// than that is widened first. With bf16 and fp16, two operations a vector, that was a quarter
    /// slower.
    static constexpr bool widens = type == DType::e4m3;

    /// bf16 comes apart into even and odd elements, for that is one operation a vector. Q is
    /// brought into this order and the output back.
    static std::size_t order(std::size_t i) { return i < kLanes ? 2 * i : 2 * (i - kLanes) + 1; }
    static void pack_query(float* row, std::size_t count) {
        if constexpr (type == DType::bf16) {
            reorder(row, count, false, order);
        }
        times_unit(row, count);
    }
    static void unpack_output(float* row, std::size_t count) {
        if constexpr (type == DType::bf16) {
            reorder(row, count, true, order);
        }
        times_unit(row, count);
    }
    /// What the elements of K and V are divided by as they are loaded comes back here, once a row.
    static void times_unit(float* row, std::size_t count) {
        if constexpr (type == DType::e4m3 && simd::HWY_NAMESPACE::kE4m3Unit != 1) {
            for (std::size_t c = 0; c < count; ++c) {
                row[c] *= simd::HWY_NAMESPACE::kE4m3Unit;
            }
        }
    }
    static void pack_weights(float* /*p*/, std::size_t /*count*/) {}

    static HWY_INLINE void load_unit(const std::byte* at, Vec& a, Vec& b) {
        if constexpr (type == DType::bf16) {
            const F d;
            const U du;
            const auto both = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(at));
            a = hn::BitCast(d, hn::ShiftLeft<16>(both));
            b = hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000U)));
        } else if constexpr (type == DType::e4m3) {
            load_pair_e4m3(at, a, b);
        } else {
            a = load<type>(at);
            b = load<type>(at + kLanes * bytes);
        }
    }
    /// The unit at column c; zeros follow the last of `columns` columns.
    template <bool rest>
    static RACELINE_SIMD_INLINE void load_at(const std::byte* row, std::size_t c,
                                             std::size_t columns, Vec& a, Vec& b) {
        if constexpr (rest) {
            HWY_ALIGN std::byte whole[kUnit * sizeof(float)] = {};
            std::memcpy(whole, row + c * bytes, (columns - c) * bytes);
            load_unit(whole, a, b);
        } else {
            load_unit(row + c * bytes, a, b);
        }
    }

    // Asks for what this stream reads some steps from now. The hardware follows the streams too,
    // but with products of several rows between two loads of a stream it does not run far enough
    // ahead: without this, time is memory plus arithmetic instead of the larger of both. Addresses
    // past the end are asked for in vain and harm nothing.
    static HWY_INLINE void ask_ahead(const std::byte* at) {
        hwy::Prefetch(at + kAhead);
        if constexpr (kUnit * bytes > 64) {
            hwy::Prefetch(at + kAhead + 64);
        }
    }

    /// The unit at column c, for as many rows of Q as share it. `streamed`: it comes from memory,
    /// and what follows in that stream is asked for; else it has been widened and lies in the
    /// cache.
    template <int rows, bool rest, bool streamed>
    static RACELINE_SIMD_INLINE void load_shared(const std::byte* row, std::size_t c,
                                                 std::size_t columns, Vec& a, Vec& b) {
        load_at<rest>(row, c, columns, a, b);
        if constexpr (streamed) {
            ask_ahead(row + c * bytes);
        } else {
            keep<rows>(a);
            keep<rows>(b);
        }
    }

    template <int rows, bool streamed, bool rest>
    static HWY_INLINE void dot_unit(const StepRows& k, std::size_t c, std::size_t columns,
                                    RowBlock q, Vec (&sum)[rows][kStreams]) {
        const F d;
        RACELINE_UNROLL
        for (int i = 0; i < kStreams; ++i) {
            Vec a;
            Vec b;
            load_shared<rows, rest, streamed>(k[i], c, columns, a, b);
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                sum[r][i] = hn::MulAdd(a, hn::Load(d, q.row(r) + c), sum[r][i]);
                sum[r][i] = hn::MulAdd(b, hn::Load(d, q.row(r) + c + kLanes), sum[r][i]);
            }
        }
    }

    /// scores[r][i] = q[r] · k[i]; rows of q are whole units. `streamed`: K
    /// comes from memory and is asked for ahead; if not, it is in the L1 cache.
    template <int rows, bool streamed>
    static RACELINE_SIMD_INLINE void dots(const StepRows& k, std::size_t columns, RowBlock q,
                                          RowBlock scores) {
        const F d;
        Vec sum[rows][kStreams];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                sum[r][i] = hn::Zero(d);
            }
        }
        const std::size_t whole = columns / kUnit * kUnit;
        for (std::size_t c = 0; c < whole; c += kUnit) {
            dot_unit<rows, streamed, false>(k, c, columns, q, sum);
        }
        if (whole < columns) {
            dot_unit<rows, streamed, true>(k, whole, columns, q, sum);
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            store_sums(sum[r][0], sum[r][1], sum[r][2], sum[r][3], scores.row(r));
        }
    }

    /// The rows of a step as floats, for products of more rows than share a load: each is widened
    /// once. `to` is kStreams rows of `stride` floats.
    static RACELINE_SIMD_INLINE void widen(const StepRows& from, std::size_t columns, float* to,
                                           std::size_t stride) {
        const F d;
        const std::size_t whole = columns / kUnit * kUnit;
        const auto unit = [&]<bool rest>(std::size_t c) {
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                Vec a;
                Vec b;
                load_at<rest>(from[i], c, columns, a, b);
                ask_ahead(from[i] + c * bytes);
                hn::Store(a, d, to + static_cast<std::size_t>(i) * stride + c);
                hn::Store(b, d, to + static_cast<std::size_t>(i) * stride + c + kLanes);
            }
        };
        for (std::size_t c = 0; c < whole; c += kUnit) {
            unit.template operator()<false>(c);
        }
        if (whole < columns) {
            unit.template operator()<true>(whole);
        }
    }

    template <int rows, bool streamed, bool rest>
    static HWY_INLINE void weigh_unit(const StepRows& v, std::size_t c, std::size_t columns,
                                      const Vec (&weight)[rows][kStreams], RowBlock out) {
        const F d;
        Vec sum[rows][2];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            sum[r][0] = hn::Load(d, out.row(r) + c);
            sum[r][1] = hn::Load(d, out.row(r) + c + kLanes);
        }
        RACELINE_UNROLL
        for (int i = 0; i < kStreams; ++i) {
            Vec a;
            Vec b;
            load_shared<rows, rest, streamed>(v[i], c, columns, a, b);
            RACELINE_UNROLL
            for (int r = 0; r < rows; ++r) {
                sum[r][0] = hn::MulAdd(weight[r][i], a, sum[r][0]);
                sum[r][1] = hn::MulAdd(weight[r][i], b, sum[r][1]);
            }
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            hn::Store(sum[r][0], d, out.row(r) + c);
            hn::Store(sum[r][1], d, out.row(r) + c + kLanes);
        }
    }

    /// out[r] += sum over i of the r-th row's weight of this step's key i times v[i].
    template <int rows, bool streamed>
    static RACELINE_SIMD_INLINE void weigh(const StepRows& v, std::size_t columns, RowBlock weights,
                                           std::size_t step, RowBlock out) {
        const F d;
        Vec weight[rows][kStreams];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int i = 0; i < kStreams; ++i) {
                weight[r][i] = hn::Set(d, weights.row(r)[step * kStreams + std::size_t(i)]);
            }
        }
        const std::size_t whole = columns / kUnit * kUnit;
        for (std::size_t c = 0; c < whole; c += kUnit) {
            weigh_unit<rows, streamed, false>(v, c, columns, weight, out);
        }
        if (whole < columns) {
            weigh_unit<rows, streamed, true>(v, whole, columns, weight, out);
        }
    }
};

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
