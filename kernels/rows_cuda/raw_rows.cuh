// SPDX-License-Identifier: Apache-2.0
// A chain whose steps are known when it is compiled, on rows of whole chunks of 16 bytes that their
// lanes hold as they were loaded. Elements are computed again for each reduction and once more for
// the result, chunk by chunk, and what is the same for all rows is loaded where it is needed. So a
// thread needs few registers, and an SM has more rows on their way. To ask the L2 for it ahead made
// layer norms up to half as slow again, and no short call faster
// (receipts/h200/logs/2026-11-30-rows-recomputed.txt).
#pragma once

#include "kernels/rows_cuda/held_rows.cuh"

namespace raceline::kernels::rows_cuda {

template <DType type, std::size_t chain, int index>
struct RawRows {
    static constexpr Tile tile = tile_list[index];
    static constexpr RowProgram program = compiled_programs[chain];
    static constexpr int lanes = tile.lanes, chunks = tile.chunks, per_chunk = gpu::chunk_of<type>;
    static_assert(reduces_one_matrix(program));

    const ParamsOf<chain>& p;
    float* partial;  ///< two rows of 32 floats in shared memory
    int lane;
    std::int64_t row;
    int turn = 0;
    uint4 raw[chunks];
    float x[1][per_chunk];
    float left[reductions_before(program, program.size) + 1];  ///< what the reductions have left

    __device__ __forceinline__ int number(int chunk) const { return chunk * lanes + lane; }
    __device__ __forceinline__ bool is_there(int chunk) const {
        return number(chunk) * per_chunk < p.width;
    }
    __device__ __forceinline__ char* row_of(int tensor) const {
        return p.tensors[tensor] + row * p.width * gpu::width_of<type>;
    }
    __device__ __forceinline__ void load() {
        const auto* from = reinterpret_cast<const uint4*>(row_of(0));
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = is_there(c) ? __ldg(from + number(c)) : make_uint4(0, 0, 0, 0);
        }
    }
    /// Nothing that was computed of the chunks stays in registers.
    __device__ __forceinline__ void forget() {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            forget_results_of(raw[c]);
        }
    }

    /// Steps before `end` on the elements of chunk `c`.
    template <int end, int i = 0>
    __device__ __forceinline__ void steps_to(int c) {
        if constexpr (i < end) {
            constexpr RowInstruction its = program.list[i];
            if constexpr (takes_vector(its.op)) {
                const uint4 operand[1] = {
                    __ldg(reinterpret_cast<const uint4*>(p.tensors[its.tensor]) + number(c))};
                apply_chunks<type, its.op>(x, operand);
            } else if constexpr (!is_reduction(its.op)) {
                constexpr int reductions = reductions_before(program, i);
                apply_to_all<type, its.op>(x, left[reductions > 0 ? reductions - 1 : 0]);
            }
            steps_to<end, i + 1>(c);
        }
    }
    template <int i>
    __device__ __forceinline__ float over_mine() {
        constexpr RowOp op = program.list[i].op;
        float so_far = start_of(op);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                gpu::widen<type>(raw[c], x[0]);
                steps_to<i>(c);
                so_far = with_chunk<op>(so_far, x[0]);
            }
        }
        return so_far;
    }
    template <int i = 0>
    __device__ __forceinline__ void reduce_from() {
        if constexpr (i < program.size) {
            constexpr RowInstruction its = program.list[i];
            if constexpr (is_reduction(its.op)) {
                const float mine = over_mine<i>();
                const float all = over_row<lanes>(mine, Combination<its.op>(), partial, turn++);
                constexpr int its_own = reductions_before(program, i);
                left[its_own] = finished(its.finish, all, static_cast<float>(p.width), p.eps);
                forget();
            }
            reduce_from<i + 1>();
        }
    }
    __device__ __forceinline__ void run() {
        load();
        reduce_from();
        char* to = row_of(program.result);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                gpu::widen<type>(raw[c], x[0]);
                steps_to<program.size>(c);
                gpu::store_chunk<type>(to, number(c), static_cast<std::int32_t>(p.width), true,
                                       x[0]);
            }
        }
    }
};

template <DType type, std::size_t chain, int index>
__global__ void __launch_bounds__(tile_list[index].threads,
                                  residents_of(tile_list[index], compiled_programs[chain]))
    raw_rows(const __grid_constant__ ParamsOf<chain> p) {
    constexpr Tile tile = tile_list[index];
    static_assert(tile.lanes == tile.threads, "a CTA has one row");
    __shared__ float partial[64];
    RawRows<type, chain, index> rows{p, partial, static_cast<int>(threadIdx.x), blockIdx.x};
    rows.run();
}

}  // namespace raceline::kernels::rows_cuda
