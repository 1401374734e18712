// SPDX-License-Identifier: Apache-2.0
// Online softmax on a warp's accumulators of scores. A lane has two rows of every 16, each shared
// with the three other lanes of its quad.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/tanh.cuh"
#include "kernels/prefill_mma/fragment.hpp"
#include "kernels/prefill_mma/load.cuh"
#include "kernels/prefill_mma/shared.cuh"

namespace raceline::kernels::prefill_mma {

template <Tile tile>
using Scores = float[tile.row_groups()][tile.warp_keys() / 8][4];
template <Tile tile>
using Outputs = float[tile.row_groups()][tile.warp_columns() / 8][4];

/// Of a row that has seen no key: less than any score, and finite, so that it can be subtracted.
inline constexpr float no_base = -3e38F;

/// A row's exponentials stand relative to 2^base. The base follows the row's maximum only when that
/// has grown by more than this power of 2, so that most blocks rescale nothing. Not more: a key
/// that is the maximum is exactly 1, one above it is rounded like any other, and where logits are
/// peaked (a standard deviation of 2.5 to 4) a few such keys are all that counts. With 2^8 the
/// error is a quarter above that of a running maximum (bench/old_maximum.py), with 2^4 an eighth.
inline constexpr float slack = 4;

/// What a lane keeps of its rows between blocks. `sum` is of its own columns only, until the
/// finish.
template <Tile tile>
struct RowState {
    float base[tile.row_groups()][2], sum[tile.row_groups()][2];
    __device__ __forceinline__ RowState() {
#pragma unroll
        for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                base[g][i] = no_base;
                sum[g][i] = 0;
            }
        }
    }
};

/// Rows of a warp and the blocks that need no mask: those whose keys all of them see.
struct WarpRows {
    std::int32_t first;      ///< query row of the warp's row 0
    std::int32_t seen_from;  ///< keys [seen_from, seen_to) are seen by all rows
    std::int32_t seen_to;
    __device__ __forceinline__ WarpRows(const Band& band, std::int32_t first_row, std::int32_t rows)
        : first(first_row),
          seen_from(band.begin(first_row + rows - 1)),
          seen_to(band.end(first_row)) {}
    __device__ __forceinline__ bool sees_all(std::int32_t first_key, std::int32_t keys) const {
        return first_key >= seen_from && first_key + keys <= seen_to;
    }
};

__device__ __forceinline__ int lane_of_warp() {
    return static_cast<int>(threadIdx.x % 32);
}

template <Tile tile>
__device__ __forceinline__ WarpRows warp_rows(const Work& w) {
    const auto before = static_cast<std::int32_t>(rows_of_warp<tile>());
    return {w.sequence.band, w.first_row + before * tile.warp_rows(), tile.warp_rows()};
}

/// Scores of keys that a row does not see become -inf.
template <Tile tile>
__device__ __forceinline__ void mask_scores(const Band& band, const WarpRows& rows,
                                            std::int32_t first_key, Scores<tile>& score) {
    const int lane = lane_of_warp();
    // Columns of this lane relative to its first one: compared with constants below.
    const std::int32_t origin = first_key + fragment_column(lane, 0, 0);
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const std::int32_t row = rows.first + 16 * g + fragment_row(lane, i);
            const std::int32_t from = band.begin(row) - origin;
            const std::int32_t to = band.end(row) - origin;
#pragma unroll
            for (int j = 0; j < tile.warp_keys() / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    float& x = score[g][j][fragment_register(i, e)];
                    const int column = 8 * j + e;
                    x = column >= from && column < to ? x : -INFINITY;
                }
            }
        }
    }
}

/// tanh of products times the scale over the cap. Both ways for every score: a choice for the whole
/// warp costs registers that the larger tiles do not have.
template <Tile tile>
__device__ __forceinline__ void cap_scores(float cap_inner, Scores<tile>& score) {
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int j = 0; j < tile.warp_keys() / 8; ++j) {
#pragma unroll
            for (float& x : score[g][j]) {
                x = gpu::tanh_anywhere(x * cap_inner);
            }
        }
    }
}

/// Brings the bases of the warp's rows up to their maxima where those have outgrown them, and with
/// them what was summed before. `highest`: of this lane's columns.
template <Tile tile>
__device__ __forceinline__ void raise_bases(float scale_log2, const Shared<tile>& s,
                                            float (&highest)[tile.row_groups()][2],
                                            Outputs<tile>& out, RowState<tile>& state) {
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (float& top : highest[g]) {
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 2));
        }
    }
    if constexpr (tile.sharers == 2) {
        float others[tile.row_groups()][2];
        exchange_rows<tile>(s, highest, others);
#pragma unroll
        for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                highest[g][i] = fmaxf(highest[g][i], others[g][i]);
            }
        }
    }
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float top = highest[g][i] * scale_log2;
            float& base = state.base[g][i];
            const float raised = fmaxf(top, base);
            const float keep = ptx::ex2_approx_ftz_f32(base - raised);
            base = raised;
            state.sum[g][i] *= keep;
#pragma unroll
            for (int j = 0; j < tile.warp_columns() / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    out[g][j][fragment_register(i, e)] *= keep;
                }
            }
        }
    }
}

/// Turns scores into exponentials relative to 2^base, in place; `out` and `state` are brought to
/// the same base, and the row sums up to date.
template <Tile tile>
__device__ __forceinline__ void exponentiate(float scale_log2, const Shared<tile>& s,
                                             Scores<tile>& score, Outputs<tile>& out,
                                             RowState<tile>& state) {
    float highest[tile.row_groups()][2];
    bool outgrown = false;
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float top = -INFINITY;
#pragma unroll
            for (int j = 0; j < tile.warp_keys() / 8; ++j) {
                top = fmaxf(top, fmaxf(score[g][j][fragment_register(i, 0)],
                                       score[g][j][fragment_register(i, 1)]));
            }
            highest[g][i] = top;
            outgrown = outgrown || top * scale_log2 > state.base[g][i] + slack;
        }
    }
    if (any_of_rows<tile>(outgrown)) {
        raise_bases<tile>(scale_log2, s, highest, out, state);
    }
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float sum[2] = {0, 0};  // two chains: additions wait for each other
#pragma unroll
            for (int j = 0; j < tile.warp_keys() / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    float& x = score[g][j][fragment_register(i, e)];
                    x = ptx::ex2_approx_ftz_f32(fmaf(x, scale_log2, -state.base[g][i]));
                    sum[e] += x;
                }
            }
            state.sum[g][i] += sum[0] + sum[1];
        }
    }
}

}  // namespace raceline::kernels::prefill_mma
