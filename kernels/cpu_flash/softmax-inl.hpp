// SPDX-License-Identifier: Apache-2.0
// Online softmax over a panel: scores [key][lane], everything along keys is vertical.
#if defined(RACELINE_CPU_FLASH_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_SOFTMAX_INL
#undef RACELINE_CPU_FLASH_SOFTMAX_INL
#else
#define RACELINE_CPU_FLASH_SOFTMAX_INL
#endif

#include <cstdint>
#include <limits>

#include "kernels/cpu_flash/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

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

/// Scores -> exponentials, in place, and their sums.
template <int vectors>
HWY_INLINE void exponentials(float* scores, std::size_t keys, float factor,
                             const PanelState& state) {
    const F d;
    Vec peak[vectors];
    Vec sum[vectors];
    for (int v = 0; v < vectors; ++v) {
        peak[v] = hn::Load(d, state.peak + v * kLanes);
        sum[v] = hn::Load(d, state.sum + v * kLanes);
    }
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
