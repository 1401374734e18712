// SPDX-License-Identifier: Apache-2.0
// A chain whose steps are known when it is compiled and that reduces one matrix, on rows of whole
// chunks of 16 bytes that are too wide for the registers of a CTA but fit into its shared memory.
// Each thread goes over chunks of its own: once for each reduction and once more to the end.
#pragma once

#include <cstdint>

#include "kernels/rows_cuda/row_parts.cuh"
#include "workload/compiled_chains.hpp"

namespace raceline::kernels::rows_cuda {

/// What a launch is given, as HeldParams.
template <int tensor_count>
struct KeptParams {
    std::int64_t rows, width;
    float eps;
    char* tensors[tensor_count];
};

template <DType type, std::size_t chain>
struct KeptRow {
    static constexpr RowProgram program = compiled_programs[chain];
    static constexpr int threads = tile_list[wide_rows_index].threads;
    static constexpr int per_chunk = gpu::chunk_of<type>;
    using Params = KeptParams<compiled_programs[chain].result + 1>;

    const Params& p;
    uint4* kept;     ///< the row, in shared memory
    float* partial;  ///< two rows of 32 floats in shared memory
    int of_row;      ///< its chunks
    int turn = 0;
    float left[reductions_before(program, program.size) + 1];  ///< what reductions have left
    float x[1][per_chunk];

    /// The row's chunks that come first, kept_ahead of a thread, on their way.
    __device__ __forceinline__ void ask(std::int64_t row, int begin,
                                        uint4 (&ahead)[kept_ahead]) const {
        const auto* from =
            reinterpret_cast<const uint4*>(p.tensors[0] + row * p.width * gpu::width_of<type>);
#pragma unroll
        for (int a = 0; a < kept_ahead; ++a) {
            const int chunk = begin + a * threads + static_cast<int>(threadIdx.x);
            ahead[a] =
                row < p.rows && chunk < of_row ? __ldg(from + chunk) : make_uint4(0, 0, 0, 0);
        }
    }

    /// Steps before `end` on the elements of one chunk, with what earlier reductions have left.
    template <int end, int i = 0, int reductions = 0>
    __device__ __forceinline__ void steps_to(int chunk) {
        if constexpr (i < end) {
            constexpr RowInstruction its = program.list[i];
            if constexpr (takes_vector(its.op)) {
                const uint4 operand[1] = {
                    __ldg(reinterpret_cast<const uint4*>(p.tensors[its.tensor]) + chunk)};
                apply_chunks<type, its.op>(x, operand);
            } else if constexpr (!is_reduction(its.op)) {
                apply_to_all<type, its.op>(x, left[reductions > 0 ? reductions - 1 : 0]);
            }
            steps_to<end, i + 1, reductions + (is_reduction(its.op) ? 1 : 0)>(chunk);
        }
    }

    /// One chunk's elements up to reduction `i`, added to what a thread has found so far.
    template <int i>
    __device__ __forceinline__ float reduced_with(float so_far, uint4 raw, int chunk) {
        constexpr RowOp op = program.list[i].op;
        gpu::widen<type>(raw, x[0]);
        steps_to<i>(chunk);
        float of_chunk = start_of(op);
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            of_chunk = reduced<op>(of_chunk, x[0][e]);
        }
        return op == RowOp::reduce_max ? Largest()(so_far, of_chunk) : so_far + of_chunk;
    }

    /// The first reduction takes the row as it comes and keeps it.
    template <int i>
    __device__ __forceinline__ float over_arriving(std::int64_t row, uint4 (&ahead)[kept_ahead]) {
        float mine = start_of(program.list[i].op);
        for (int begin = 0; begin < of_row; begin += kept_ahead * threads) {
            uint4 here[kept_ahead];
#pragma unroll
            for (int a = 0; a < kept_ahead; ++a) {
                here[a] = ahead[a];
            }
            ask(row, begin + kept_ahead * threads, ahead);
#pragma unroll
            for (int a = 0; a < kept_ahead; ++a) {
                const int chunk = begin + a * threads + static_cast<int>(threadIdx.x);
                if (chunk < of_row) {
                    kept[chunk] = here[a];
                    mine = reduced_with<i>(mine, here[a], chunk);
                }
            }
        }
        return mine;
    }
    template <int i>
    __device__ __forceinline__ float over_kept() {
        float mine = start_of(program.list[i].op);
#pragma unroll 2
        for (int chunk = static_cast<int>(threadIdx.x); chunk < of_row; chunk += threads) {
            mine = reduced_with<i>(mine, kept[chunk], chunk);
        }
        return mine;
    }

    /// Reduction `i`, if there is one, and those behind it; then the row's end.
    template <int i = 0>
    __device__ __forceinline__ void run_from(std::int64_t row, std::int64_t next,
                                             uint4 (&ahead)[kept_ahead]) {
        if constexpr (i == program.size) {
            finish(row, next, ahead);
        } else {
            constexpr RowInstruction its = program.list[i];
            if constexpr (is_reduction(its.op)) {
                constexpr int before = reductions_before(program, i);
                float mine = 0;
                if constexpr (before == 0) {
                    mine = over_arriving<i>(row, ahead);
                } else {
                    mine = over_kept<i>();
                }
                if constexpr (its.op == RowOp::reduce_max) {
                    mine = over_row<threads>(mine, Largest(), partial, turn++);
                } else {
                    mine = over_row<threads>(mine, Sum(), partial, turn++);
                }
                left[before] = finished(its.finish, mine, static_cast<float>(p.width), p.eps);
            }
            run_from<i + 1>(row, next, ahead);
        }
    }
    /// Stores the result, while the next row is on its way.
    __device__ __forceinline__ void finish(std::int64_t row, std::int64_t next,
                                           uint4 (&ahead)[kept_ahead]) {
        ask(next, 0, ahead);
        char* to = p.tensors[program.result] + row * p.width * gpu::width_of<type>;
#pragma unroll 2
        for (int chunk = static_cast<int>(threadIdx.x); chunk < of_row; chunk += threads) {
            gpu::widen<type>(kept[chunk], x[0]);
            steps_to<program.size>(chunk);
            gpu::store_chunk<type>(to, chunk, p.width, true, x[0]);
        }
    }
};

template <DType type, std::size_t chain>
__global__ void __launch_bounds__(tile_list[wide_rows_index].threads, 1)
    kept_rows(const __grid_constant__ KeptParams<compiled_programs[chain].result + 1> p) {
    extern __shared__ uint4 dynamic_shared[];
    __shared__ float partial[64];
    KeptRow<type, chain> kept{p, dynamic_shared, partial,
                              static_cast<int>(p.width / gpu::chunk_of<type>)};
    uint4 ahead[kept_ahead];
    kept.ask(blockIdx.x, 0, ahead);
    for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
        kept.run_from(row, row + gridDim.x, ahead);
    }
}

}  // namespace raceline::kernels::rows_cuda
