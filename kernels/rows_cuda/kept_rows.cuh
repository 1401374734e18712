// SPDX-License-Identifier: Apache-2.0
// A chain whose steps are known when it is compiled and that reduces one matrix, on rows of whole
// chunks of 16 bytes that are too wide for the registers of a CTA. A cluster of CTAs keeps a row in
// its shared memory, a section each; a single CTA does where it has room. A thread copies, reduces
// and stores chunks of its own, so that it asks for the next row's chunks as soon as it has stored
// this one's, and waits for others only where sums meet.
#pragma once

#include <cstdint>

#include "gpu/ptx/cluster.cuh"
#include "gpu/ptx/cp_async.cuh"
#include "kernels/rows_cuda/row_parts.cuh"
#include "workload/compiled_chains.hpp"

namespace raceline::kernels::rows_cuda {

/// What a launch is given, as HeldParams.
template <int tensor_count>
struct KeptParams {
    std::int64_t rows, width;
    std::int32_t cluster;  ///< CTAs that keep a row together
    float eps;
    char* tensors[tensor_count];
};

template <DType type, std::size_t chain>
struct KeptRow {
    static constexpr RowProgram program = compiled_programs[chain];
    static constexpr int threads = tile_list[wide_rows_index].threads;
    static constexpr int per_chunk = gpu::chunk_of<type>;
    /// A thread's copies of a row are waited for in so many groups, in the order of its chunks.
    static constexpr int groups = 4;
    using Params = KeptParams<compiled_programs[chain].result + 1>;

    const Params& p;
    uint4* kept;       ///< this CTA's section of the row, in shared memory
    float* partial;    ///< two rows of 32 floats behind it, for the warps of the CTA
    float* sums;       ///< two rows of a float for each CTA of the cluster
    int rank;          ///< among them
    int first;         ///< chunk of the row that the section begins with
    int of_section;    ///< its chunks
    int of_group;      ///< as many as a group of all threads has
    int turn = 0;
    float left[reductions_before(program, program.size) + 1];  ///< what reductions have left
    float x[1][per_chunk];

    __device__ __forceinline__ KeptRow(const Params& params, uint4* shared)
        : p(params),
          kept(shared),
          rank(static_cast<int>(blockIdx.x) % params.cluster) {
        const auto of_row = static_cast<int>(p.width / per_chunk);
        const int section = chunks_of_section(of_row, p.cluster);
        partial = reinterpret_cast<float*>(shared + section);
        sums = partial + 64;
        first = rank * section;
        of_section = min(max(of_row - first, 0), section);
        of_group = (section + threads * groups - 1) / (threads * groups) * threads;
    }

    __device__ __forceinline__ const uint4* section_of(std::int64_t row, int tensor) const {
        return reinterpret_cast<const uint4*>(p.tensors[tensor] +
                                              row * p.width * gpu::width_of<type>) +
               first;
    }
    /// The thread's chunks of a group.
    __device__ __forceinline__ int begin_of(int group) const {
        return group * of_group + static_cast<int>(threadIdx.x);
    }
    __device__ __forceinline__ int end_of(int group) const {
        return min(of_section, (group + 1) * of_group);
    }

    /// A group of its chunks of a row, on their way; of no row, none.
    __device__ __forceinline__ void ask(std::int64_t row, int group) const {
        if (row < p.rows) {
            const auto* from = section_of(row, 0);
            const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(kept));
            for (int chunk = begin_of(group); chunk < end_of(group); chunk += threads) {
                ptx::cp_async_cg_16(to + 16 * static_cast<std::uint32_t>(chunk), from + chunk, 16);
            }
        }
        ptx::cp_async_commit_group();
    }

    /// Steps before `end` on the elements of one chunk, with what earlier reductions have left.
    template <int end, int i = 0, int reductions = 0>
    __device__ __forceinline__ void steps_to(int chunk) {
        if constexpr (i < end) {
            constexpr RowInstruction its = program.list[i];
            if constexpr (takes_vector(its.op)) {
                const uint4 operand[1] = {__ldg(section_of(0, its.tensor) + chunk)};
                apply_chunks<type, its.op>(x, operand);
            } else if constexpr (!is_reduction(its.op)) {
                apply_to_all<type, its.op>(x, left[reductions > 0 ? reductions - 1 : 0]);
            }
            steps_to<end, i + 1, reductions + (is_reduction(its.op) ? 1 : 0)>(chunk);
        }
    }

    /// One chunk's elements up to reduction `i`, added to what a thread has found so far.
    template <int i>
    __device__ __forceinline__ float reduced_with(float so_far, int chunk) {
        constexpr RowOp op = program.list[i].op;
        gpu::widen<type>(kept[chunk], x[0]);
        steps_to<i>(chunk);
        float of_chunk = start_of(op);
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            of_chunk = reduced<op>(of_chunk, x[0][e]);
        }
        return op == RowOp::reduce_max ? Largest()(so_far, of_chunk) : so_far + of_chunk;
    }
    /// Over the thread's chunks; the first reduction takes them as they come.
    template <int i, bool arriving, int group = 0>
    __device__ __forceinline__ float over_mine(float so_far) {
        if constexpr (group == groups) {
            return so_far;
        } else {
            if constexpr (arriving) {
                ptx::cp_async_wait_group<groups - 1 - group>();
            }
#pragma unroll 2
            for (int chunk = begin_of(group); chunk < end_of(group); chunk += threads) {
                so_far = reduced_with<i>(so_far, chunk);
            }
            return over_mine<i, arriving, group + 1>(so_far);
        }
    }
    /// Over the row. One barrier is enough here too, since two rows of sums are used in turn.
    template <class Operator>
    __device__ __forceinline__ float over_cluster(float mine, Operator op) {
        float all = over_row<threads>(mine, op, partial, turn);
        if (p.cluster > 1) {
            float* of_ctas = sums + most_kept_cluster * (turn & 1);
            if (static_cast<int>(threadIdx.x) < p.cluster) {
                ptx::st_shared_cluster_f32(
                    static_cast<std::uint32_t>(__cvta_generic_to_shared(of_ctas + rank)),
                    threadIdx.x, all);
            }
            __syncwarp();
            ptx::barrier_cluster();
            all = of_ctas[0];
            for (int other = 1; other < p.cluster; ++other) {
                all = op(all, of_ctas[other]);
            }
        }
        ++turn;
        return all;
    }

    /// Reduction `i`, if there is one, and those behind it; then the row's end.
    template <int i = 0>
    __device__ __forceinline__ void run_from(std::int64_t row, std::int64_t next) {
        if constexpr (i == program.size) {
            finish(row, next);
        } else {
            constexpr RowInstruction its = program.list[i];
            if constexpr (is_reduction(its.op)) {
                constexpr int before = reductions_before(program, i);
                const float mine = over_mine<i, before == 0>(start_of(its.op));
                float all = 0;
                if constexpr (its.op == RowOp::reduce_max) {
                    all = over_cluster(mine, Largest());
                } else {
                    all = over_cluster(mine, Sum());
                }
                left[before] = finished(its.finish, all, static_cast<float>(p.width), p.eps);
            }
            run_from<i + 1>(row, next);
        }
    }
    /// Stores the result group by group, and asks for the next row's in its place.
    __device__ __forceinline__ void finish(std::int64_t row, std::int64_t next) {
        char* to = p.tensors[program.result] + row * p.width * gpu::width_of<type> +
                   16 * static_cast<std::int64_t>(first);
        for (int group = 0; group < groups; ++group) {
#pragma unroll 4
            for (int chunk = begin_of(group); chunk < end_of(group); chunk += threads) {
                gpu::widen<type>(kept[chunk], x[0]);
                steps_to<program.size>(chunk);
                gpu::store_chunk<type>(to, chunk, p.width, true, x[0]);
            }
            ask(next, group);
        }
    }

    __device__ __forceinline__ void run() {
        for (int group = 0; group < groups; ++group) {
            ask(blockIdx.x / p.cluster, group);
        }
        if (p.cluster > 1) {
            ptx::barrier_cluster();  // a CTA that has not begun has no shared memory yet
        }
        const std::int64_t clusters = gridDim.x / p.cluster;
        for (std::int64_t row = blockIdx.x / p.cluster; row < p.rows; row += clusters) {
            run_from(row, row + clusters);
        }
    }
};

template <DType type, std::size_t chain>
__global__ void __launch_bounds__(tile_list[wide_rows_index].threads, kept_residents)
    kept_rows(const __grid_constant__ KeptParams<compiled_programs[chain].result + 1> p) {
    extern __shared__ uint4 dynamic_shared[];
    KeptRow<type, chain> kept(p, dynamic_shared);
    kept.run();
}

}  // namespace raceline::kernels::rows_cuda
