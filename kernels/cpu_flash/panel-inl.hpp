// SPDX-License-Identifier: Apache-2.0
// Moving rows between memory, where the head dim is contiguous, and panels, where rows are lanes;
// and blocks of K and V into scratch, in the form that the products take. Then online softmax over
// a panel: scores [key][lane], everything along keys is vertical.
#if defined(RACELINE_CPU_FLASH_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_PANEL_INL
#undef RACELINE_CPU_FLASH_PANEL_INL
#else
#define RACELINE_CPU_FLASH_PANEL_INL
#endif

#include <cstdint>
#include <limits>

#include "cpu/simd/elements-inl.hpp"
#include "kernels/cpu_flash/gemm-inl.hpp"
#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

using namespace raceline::simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

/// Four vectors -> in every 128-bit block, the transposed 4 × 4 matrix.
HWY_INLINE void transpose_blocks(Vec& a, Vec& b, Vec& c, Vec& e) {
    const F d;
    const hn::RepartitionToWide<F> wide;
    const auto low_ab = hn::BitCast(wide, hn::InterleaveLower(d, a, b));
    const auto low_ce = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
    const auto high_ab = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
    const auto high_ce = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
    a = hn::BitCast(d, hn::InterleaveLower(wide, low_ab, low_ce));
    b = hn::BitCast(d, hn::InterleaveUpper(wide, low_ab, low_ce));
    c = hn::BitCast(d, hn::InterleaveLower(wide, high_ab, high_ce));
    e = hn::BitCast(d, hn::InterleaveUpper(wide, high_ab, high_ce));
}

/// [column][lane] with `stride` floats a column -> kLanes rows of `row_stride` floats. Columns are
/// taken in fours; up to three columns past the end of a row are written.
inline void panel_to_rows(const float* panel, std::size_t stride, std::size_t columns, float* rows,
                          std::size_t row_stride) {
    const F d;
    HWY_ALIGN float block[4 * kLanes];
    for (std::size_t c = 0; c < columns; c += 4) {
        // Past the last column its own values are repeated; nobody reads them.
        const auto at = [&](std::size_t i) {
            return panel + (c + i < columns ? c + i : columns - 1) * stride;
        };
        Vec v0 = hn::Load(d, at(0));
        Vec v1 = hn::Load(d, at(1));
        Vec v2 = hn::Load(d, at(2));
        Vec v3 = hn::Load(d, at(3));
        transpose_blocks(v0, v1, v2, v3);
        hn::Store(v0, d, block);
        hn::Store(v1, d, block + kLanes);
        hn::Store(v2, d, block + 2 * kLanes);
        hn::Store(v3, d, block + 3 * kLanes);
        for (std::size_t r = 0; r < kLanes; ++r) {
            std::memcpy(rows + r * row_stride + c, block + (r % 4) * kLanes + r / 4 * 4, 16);
        }
    }
}

/// The other way: kLanes rows -> columns of lanes. Rows must be readable to a multiple of four.
inline void rows_to_panel(const float* rows, std::size_t row_stride, std::size_t columns,
                          float* panel, std::size_t stride) {
    const F d;
    HWY_ALIGN float block[4 * kLanes];
    for (std::size_t c = 0; c < columns; c += 4) {
        for (std::size_t r = 0; r < kLanes; ++r) {
            std::memcpy(block + (r % 4) * kLanes + r / 4 * 4, rows + r * row_stride + c, 16);
        }
        Vec v[4] = {hn::Load(d, block), hn::Load(d, block + kLanes),
                    hn::Load(d, block + 2 * kLanes), hn::Load(d, block + 3 * kLanes)};
        transpose_blocks(v[0], v[1], v[2], v[3]);
        for (std::size_t i = 0; i < 4 && c + i < columns; ++i) {
            hn::Store(v[i], d, panel + (c + i) * stride);
        }
    }
}

/// Keys [key0, key0 + count) as floats, `stride` floats a row.
inline void pack_floats(const CacheRows& cache, std::int64_t key0, std::int64_t count,
                        std::size_t columns, float* to, std::size_t stride) {
    for (std::int64_t j = 0; j < count; ++j) {
        to_float(cache.row(key0 + j), cache.dtype, columns, to + j * stride);
    }
}

/// State of a panel's rows: peak of the scores in powers of two, sum of exponentials relative to
/// it, and the output so far, [column][lane], relative to it.
struct PanelState {
    float* peak;
    float* sum;
    float* out;
    std::size_t columns;
};

/// Sums stay relative to an old peak until a score exceeds it by this many powers of two: scaling
/// all outputs whenever some row finds a slightly higher score would cost more, and the exponent of
/// a float has room for it.
inline constexpr float kPeakSlack = 8.0F;

/// s -> limit * tanh(s * inner).
template <int vectors>
HWY_INLINE void cap_scores(float* scores, std::size_t keys, float inner, float limit) {
    const F d;
    for (std::size_t i = 0; i < keys * vectors * kLanes; i += kLanes) {
        const Vec s = hn::Mul(hn::Load(d, scores + i), hn::Set(d, inner));
        hn::Store(hn::Mul(tanh(s), hn::Set(d, limit)), d, scores + i);
    }
}

/// Scores of keys outside [first, last) of their row become -inf; `key` is that of the first score.
template <int vectors>
HWY_INLINE void mask_scores(float* scores, std::size_t keys, std::int64_t key,
                            const std::int32_t* first, const std::int32_t* last) {
    const F d;
    const I di;
    const Vec none = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int v = 0; v < vectors; ++v) {
        const auto low = hn::Load(di, first + v * kLanes);
        const auto high = hn::Sub(hn::Load(di, last + v * kLanes), hn::Set(di, 1));
        float* at = scores + v * kLanes;
        for (std::size_t j = 0; j < keys; ++j, at += vectors * kLanes) {
            const auto index = hn::Set(di, static_cast<std::int32_t>(key + std::int64_t(j)));
            const auto hidden = hn::Or(hn::Lt(index, low), hn::Gt(index, high));
            hn::Store(hn::IfThenElse(hn::RebindMask(d, hidden), none, hn::Load(d, at)), d, at);
        }
    }
}

/// Scales sums and outputs of every row to its new peak.
template <int vectors>
HWY_NOINLINE void move_peak(const PanelState& state, const Vec* peak) {
    const F d;
    Vec scale[vectors];
    for (int v = 0; v < vectors; ++v) {
        const std::size_t at = v * kLanes;
        scale[v] = exp2(hn::Sub(hn::Load(d, state.peak + at), peak[v]));
        hn::Store(peak[v], d, state.peak + at);
        hn::Store(hn::Mul(scale[v], hn::Load(d, state.sum + at)), d, state.sum + at);
    }
    for (std::size_t column = 0; column < state.columns; ++column) {
        float* out = state.out + column * vectors * kLanes;
        for (int v = 0; v < vectors; ++v) {
            hn::Store(hn::Mul(scale[v], hn::Load(d, out + v * kLanes)), d, out + v * kLanes);
        }
    }
}

/// Takes the block's scores into the peak; `factor` (positive) turns scores into powers of two.
template <int vectors>
HWY_INLINE void raise_peak(const float* scores, std::size_t keys, float factor,
                           const PanelState& state) {
    const F d;
    Vec most[vectors];
    for (int v = 0; v < vectors; ++v) {
        most[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    }
    for (std::size_t j = 0; j < keys; ++j) {
        for (int v = 0; v < vectors; ++v) {
            most[v] = hn::Max(most[v], hn::Load(d, scores + (j * vectors + v) * kLanes));
        }
    }
    bool raised = false;
    for (int v = 0; v < vectors; ++v) {
        const Vec old = hn::Load(d, state.peak + v * kLanes);
        most[v] = hn::Max(old, hn::Mul(most[v], hn::Set(d, factor)));
        const auto over = hn::Gt(most[v], hn::Add(old, hn::Set(d, kPeakSlack)));
        raised = raised || !hn::AllFalse(d, over);
    }
    if (raised) {
        move_peak<vectors>(state, most);
    }
}

/// Vectors of lanes that lie one behind the other.
template <int vectors>
HWY_INLINE void load_lanes(const float* from, Vec (&to)[vectors]) {
    const F d;
    for (int v = 0; v < vectors; ++v) {
        to[v] = hn::Load(d, from + v * kLanes);
    }
}

/// Scores -> exponentials, in place, and their sums.
template <int vectors>
HWY_INLINE void exponentials(float* scores, std::size_t keys, float factor,
                             const PanelState& state) {
    const F d;
    Vec peak[vectors];
    Vec sum[vectors];
    load_lanes(state.peak, peak);
    load_lanes(state.sum, sum);
    const Vec scale = hn::Set(d, factor);
    for (std::size_t j = 0; j < keys; ++j) {
        for (int v = 0; v < vectors; ++v) {
            float* at = scores + (j * vectors + v) * kLanes;
            const Vec p = exp2(hn::MulSub(hn::Load(d, at), scale, peak[v]));
            sum[v] = hn::Add(sum[v], p);
            hn::Store(p, d, at);
        }
    }
    for (int v = 0; v < vectors; ++v) {
        hn::Store(sum[v], d, state.sum + v * kLanes);
    }
}

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
