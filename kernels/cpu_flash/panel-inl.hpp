// SPDX-License-Identifier: Apache-2.0
// Moving rows between memory, where the head dim is contiguous, and panels, where rows are lanes;
// and blocks of K and V into scratch, in the form that the products take.
#if defined(RACELINE_CPU_FLASH_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_FLASH_PANEL_INL
#undef RACELINE_CPU_FLASH_PANEL_INL
#else
#define RACELINE_CPU_FLASH_PANEL_INL
#endif

#include <cstdint>

#include "kernels/cpu_flash/engine.hpp"
#include "kernels/cpu_flash/gemm-inl.hpp"
#include "kernels/cpu_flash/rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::cpu_flash::HWY_NAMESPACE {

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

}  // namespace raceline::kernels::cpu_flash::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
