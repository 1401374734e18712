// SPDX-License-Identifier: Apache-2.0
// Products for few rows: lanes along the head dim, so that K and V stream through once and memory
// is the limit. A stored row is taken in units of two vectors.
#if defined(RACELINE_CPU_FLASH_DECODE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_DECODE_INL
#undef RACELINE_CPU_FLASH_DECODE_INL
#else
#define RACELINE_CPU_FLASH_DECODE_INL
#endif

#include <cstdint>
#include <cstring>
#include <hwy/cache_control.h>

#include "kernels/cpu_flash/gemm-inl.hpp"
#include "kernels/cpu_flash/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

inline constexpr std::size_t kUnit = 2 * kLanes;
// Rows that share a load of K or V; their accumulators have to stay in registers.
inline constexpr int kRowsAtOnce = kVectorsMost == 4 ? 4 : 2;

/// Order of a unit's elements in registers: bf16 comes apart into even and odd ones, for that is
/// one operation a vector. Q is brought into this order and the output back.
template <DType type>
constexpr std::size_t unit_order(std::size_t i) {
    if constexpr (type == DType::bf16) {
        return i < kLanes ? 2 * i : 2 * (i - kLanes) + 1;
    } else {
        return i;
    }
}

template <DType type>
HWY_INLINE void load_unit(const std::byte* at, Vec& a, Vec& b) {
    if constexpr (type == DType::bf16) {
        const F d;
        const U du;
        const auto both = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(at));
        a = hn::BitCast(d, hn::ShiftLeft<16>(both));
        b = hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000U)));
    } else {
        a = load<type>(at);
        b = load<type>(at + kLanes * static_cast<std::size_t>(bytes_of(type)));
    }
}

/// The last elements of a row, fewer than a unit; zeros follow.
template <DType type>
HWY_INLINE void load_rest(const std::byte* at, std::size_t count, Vec& a, Vec& b) {
    HWY_ALIGN std::byte whole[kUnit * sizeof(float)] = {};
    std::memcpy(whole, at, count * static_cast<std::size_t>(bytes_of(type)));
    load_unit<type>(whole, a, b);
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

/// Rows that are read next. Their lines are asked for while others are worked on: rows of one head
/// lie apart, in pages of their own, where the prefetcher of the hardware does not follow.
struct Ahead {
    const std::byte* const* rows;
    std::size_t count, bytes;
    std::size_t each;  ///< rows to ask for while one key is worked on

    /// The share of keys [j, j + keys).
    HWY_INLINE void touch(std::size_t j, std::size_t keys) const {
        for (std::size_t r = j * each; r < (j + keys) * each && r < count; ++r) {
            for (std::size_t b = 0; b < bytes; b += 64) {
                hwy::Prefetch(rows[r] + b);
            }
        }
    }
};

/// Four keys against `rows` rows of Q, one unit of columns: sum[r][i] += q[r] * row[i].
template <DType type, int rows, bool rest>
HWY_INLINE void dot_unit(const std::byte* const* row, std::size_t c, std::size_t columns,
                         const float* q, std::size_t q_row, Vec (&sum)[rows][4]) {
    const F d;
    constexpr auto bytes = static_cast<std::size_t>(bytes_of(type));
    RACELINE_UNROLL
    for (int i = 0; i < 4; ++i) {
        Vec a;
        Vec b;
        if constexpr (rest) {
            load_rest<type>(row[i] + c * bytes, columns - c, a, b);
        } else {
            load_unit<type>(row[i] + c * bytes, a, b);
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            const float* at = q + static_cast<std::size_t>(r) * q_row + c;
            sum[r][i] = hn::MulAdd(a, hn::Load(d, at), sum[r][i]);
            sum[r][i] = hn::MulAdd(b, hn::Load(d, at + kLanes), sum[r][i]);
        }
    }
}

/// scores[r][j] = q[r] · k[j]; rows of q are whole units. Writes up to three scores past the last.
template <DType type, int rows>
HWY_INLINE void dot_rows(const std::byte* const* k, std::size_t keys, const float* q,
                         std::size_t q_row, std::size_t columns, float* scores,
                         std::size_t score_row, const Ahead& ahead) {
    const F d;
    const std::size_t whole = columns / kUnit * kUnit;
    for (std::size_t j = 0; j < keys; j += 4) {
        const std::byte* row[4];
        for (std::size_t i = 0; i < 4; ++i) {
            row[i] = k[j + i < keys ? j + i : keys - 1];
        }
        ahead.touch(j, 4);
        Vec sum[rows][4];
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            RACELINE_UNROLL
            for (int i = 0; i < 4; ++i) {
                sum[r][i] = hn::Zero(d);
            }
        }
        for (std::size_t c = 0; c < whole; c += kUnit) {
            dot_unit<type, rows, false>(row, c, columns, q, q_row, sum);
        }
        if (whole < columns) {
            dot_unit<type, rows, true>(row, whole, columns, q, q_row, sum);
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            store_sums(sum[r][0], sum[r][1], sum[r][2], sum[r][3],
                       scores + static_cast<std::size_t>(r) * score_row + j);
        }
    }
}

/// out[r][c …] += sum over j of p[r][j] * v[j][c …] for `units` units of columns from c on, of
/// which only `left` columns exist if `rest`.
template <DType type, int rows, int units, bool rest>
HWY_INLINE void weigh_columns(const std::byte* const* v, std::size_t keys, const float* p,
                              std::size_t p_row, std::size_t c, std::size_t left, float* out,
                              std::size_t out_row, const Ahead& ahead) {
    const F d;
    constexpr auto bytes = static_cast<std::size_t>(bytes_of(type));
    Vec sum[rows][2 * units];
    RACELINE_UNROLL
    for (int r = 0; r < rows; ++r) {
        RACELINE_UNROLL
        for (int i = 0; i < 2 * units; ++i) {
            sum[r][i] = hn::Load(d, out + static_cast<std::size_t>(r) * out_row + c + i * kLanes);
        }
    }
    for (std::size_t j = 0; j < keys; ++j) {
        ahead.touch(j, 1);
        Vec value[2 * units];
        const std::byte* at = v[j] + c * bytes;
        if constexpr (rest) {
            load_rest<type>(at, left, value[0], value[1]);
        } else {
            RACELINE_UNROLL
            for (int u = 0; u < units; ++u) {
                load_unit<type>(at + u * kUnit * bytes, value[2 * u], value[2 * u + 1]);
            }
        }
        RACELINE_UNROLL
        for (int r = 0; r < rows; ++r) {
            const Vec weight = hn::Set(d, p[static_cast<std::size_t>(r) * p_row + j]);
            RACELINE_UNROLL
            for (int i = 0; i < 2 * units; ++i) {
                sum[r][i] = hn::MulAdd(weight, value[i], sum[r][i]);
            }
        }
    }
    RACELINE_UNROLL
    for (int r = 0; r < rows; ++r) {
        RACELINE_UNROLL
        for (int i = 0; i < 2 * units; ++i) {
            hn::Store(sum[r][i], d, out + static_cast<std::size_t>(r) * out_row + c + i * kLanes);
        }
    }
}

template <DType type, int rows>
HWY_INLINE void weigh_rows(const std::byte* const* v, std::size_t keys, const float* p,
                           std::size_t p_row, std::size_t columns, float* out, std::size_t out_row,
                           Ahead ahead) {
    constexpr int most = kVectorsMost == 4 ? (rows == 4 ? 2 : 4) : (rows == 1 ? 4 : 2);
    std::size_t c = 0;
    for (; c + most * kUnit <= columns; c += most * kUnit) {
        weigh_columns<type, rows, most, false>(v, keys, p, p_row, c, 0, out, out_row, ahead);
        ahead.count = 0;
    }
    for (; c + kUnit <= columns; c += kUnit) {
        weigh_columns<type, rows, 1, false>(v, keys, p, p_row, c, 0, out, out_row, ahead);
        ahead.count = 0;
    }
    if (c < columns) {
        weigh_columns<type, rows, 1, true>(v, keys, p, p_row, c, columns - c, out, out_row, ahead);
    }
}

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
