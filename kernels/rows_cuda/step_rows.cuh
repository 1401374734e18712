// SPDX-License-Identifier: Apache-2.0
// Any chain whose elements know their row, on rows that their lanes hold. A CTA takes its rows and
// ends, as in held_rows.cuh. Every thread reads the steps from constant memory; a norm or softmax
// is one step, so that little time goes into reading them.
#pragma once

#include "gpu/ptx/prefetch_l2.cuh"
#include "kernels/rows_cuda/phrases.hpp"
#include "kernels/rows_cuda/row_segment.cuh"

namespace raceline::kernels::rows_cuda {

struct StepParams : RowPlaces {
    Phrases phrases;
    std::int32_t result;     ///< tensor that the last values go to
    std::uint32_t matrices;  ///< tensors that steps take a row of, a bit each
    float inverse_width;
};

/// A reduction's result as the elements use it. In 16 bits what elements are multiplied by is
/// approximated, far below the type's rounding. A mean is not: a row of equal elements less its
/// mean must be zeros, which the variance would make large.
template <DType type>
__device__ __forceinline__ float finished_for(RowFinish finish, float value, const StepParams& p) {
    if constexpr (type == DType::fp32) {
        return finished(finish, value, static_cast<float>(p.layout.width), p.eps);
    }
    switch (finish) {
        case RowFinish::negated: return -value;
        case RowFinish::negative_mean: return -value / static_cast<float>(p.layout.width);
        case RowFinish::inverse: return ptx::rcp_approx_ftz_f32(value);
        case RowFinish::inverse_root: return rsqrtf(fmaf(value, p.inverse_width, p.eps));
        case RowFinish::none: break;
    }
    return value;
}

/// `Part`: a Segment, or what a thread holds of rows that come otherwise.
template <class Part>
struct SteppedRow : Part {
    static constexpr DType type = Part::its_type;
    static constexpr int chunks = Part::its_chunks;
    const StepParams& all;
    float* partial;  ///< two rows of 32 floats in shared memory
    int turn;

    template <RowOp op, RowFinish finish>
    __device__ __forceinline__ float statistic() {
        const float mine = this->template over_mine<op>(start_of(op));
        const float result = over_row<Part::of_row>(mine, Combination<op>(), partial, turn++);
        return finished_for<type>(finish, result, all);
    }

    __device__ __forceinline__ void softmax() {
        const float largest = statistic<RowOp::reduce_max, RowFinish::negated>();
        this->template each<RowOp::add_statistic>(largest);
        this->template each<RowOp::exp>();
        const float inverse = statistic<RowOp::reduce_sum, RowFinish::inverse>();
        this->template each<RowOp::mul_statistic>(inverse);
    }
    /// The gain is on its way while the lanes wait for each other.
    __device__ __forceinline__ void rmsnorm(int tensor) {
        uint4 gain[chunks];
        this->load(tensor, false, gain);
        const float inverse = statistic<RowOp::reduce_squares, RowFinish::inverse_root>();
        this->template each<RowOp::mul_statistic>(inverse);
        this->template with_chunks<RowOp::mul_vector>(gain);
    }
    __device__ __forceinline__ void layernorm(int tensor) {
        const float mean = statistic<RowOp::reduce_sum, RowFinish::negative_mean>();
        this->template each<RowOp::add_statistic>(mean);
        rmsnorm(tensor);
        this->template with<RowOp::add_vector>(tensor + 1);
    }

    __device__ __forceinline__ void take_phrase(const RowInstruction& its) {
        if (is_reduction(its.op)) {
            switch (its.op) {
                case RowOp::reduce_max: softmax(); break;
                case RowOp::reduce_sum: layernorm(its.tensor); break;
                default: rmsnorm(its.tensor); break;
            }
        } else {
            take_step(*this, its, 0.0F);
        }
    }

    /// Rows of other matrices into the L2, until a step loads them.
    __device__ __forceinline__ void ask_for_matrices() const {
#pragma unroll 1
        for (int tensor = 1; all.matrices >> tensor != 0; ++tensor) {
            if ((all.matrices >> tensor & 1) != 0) {
                ask_for(tensor);
            }
        }
    }
    __device__ __forceinline__ void ask_for(int tensor) const {
        const char* from = this->at(tensor, true);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            // Every second lane: a sector has two chunks.
            if (this->lane % 2 == 0 && this->is_there(c)) {
                ptx::prefetch_global_l2(from + 16 * this->number(c));
            }
        }
    }
};

template <DType type, int index, Access access>
__global__ void __launch_bounds__(tile_list[index].threads,
                                  residents_stepping(tile_list[index], type, access))
    step_rows(const __grid_constant__ StepParams p) {
    constexpr Tile tile = tile_list[index];
    constexpr int together = tile.threads / tile.lanes;
    using Row = SteppedRow<Segment<type, tile.lanes, tile.chunks, access>>;
    __shared__ float partial[64];
    std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * together + threadIdx.x / tile.lanes;
    std::int64_t first = 0;
    if (p.layout.segments > 1) {
        const auto segment = static_cast<unsigned>(row);
        const auto segments = static_cast<unsigned>(p.layout.segments);
        row = segment / segments;
        first = static_cast<std::int64_t>(segment % segments) * Row::at_once;
    }
    // Lanes of a part of a warp behind the last row go along with nothing: they exchange with the
    // others.
    if (tile.lanes >= 32 && row >= p.layout.rows) {
        return;
    }
    Row its{{p, static_cast<int>(threadIdx.x) % tile.lanes, 0, 0, 0, 0, 0, {}}, p, partial, 0};
    its.move(row, first);
    uint4 raw[tile.chunks];
    its.load(0, true, raw);
    its.ask_for_matrices();
    its.take(raw);
#pragma unroll 1
    for (int i = 0; i < p.phrases.size; ++i) {
        its.take_phrase(p.phrases.list[static_cast<std::size_t>(i)]);
    }
    its.store(p.result);
}

}  // namespace raceline::kernels::rows_cuda
