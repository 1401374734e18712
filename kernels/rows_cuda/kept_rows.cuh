// SPDX-License-Identifier: Apache-2.0
// A chain whose steps are known when it is compiled and that reduces its rows, where these are too
// wide for the registers of a CTA. A cluster of CTAs keeps a row in its shared memory, a section
// each, of every matrix that the chain reads; a single CTA does where it has room, one for each row
// where an SM has room for two or, of a small one, for four. Where a row begins or ends inside of
// 16 bytes, its first and last chunk have a neighbour's elements beside its own. A thread copies,
// reduces and stores chunks of its own, so that it asks for the next row's chunks as soon as it has
// stored this one's, and waits for others only where sums meet. Clusters take rows as they are
// handed out by a counter. Statistics of a norm or softmax are taken while the row comes in: memory
// would wait while lanes went over it once more.
#pragma once

#include <cstdint>

#include "gpu/ptx/cluster.cuh"
#include "gpu/ptx/cp_async.cuh"
#include "gpu/ptx/mbarrier.cuh"
#include "kernels/rows_cuda/row_parts.cuh"
#include "kernels/rows_cuda/shifted_chunks.cuh"
#include "workload/compiled_chains.hpp"

namespace raceline::kernels::rows_cuda {

/// What a launch is given, as HeldParams.
template <int tensor_count>
struct KeptParams {
    std::int64_t rows, width;
    std::int32_t cluster;  ///< CTAs that keep a row together
    float eps;
    std::uint32_t*
        handed_out;  ///< rows behind the first of each cluster; null: each takes every so-manieth
    char* tensors[tensor_count];
};

/// The elements of a chunk that are the row's: from `begin` to before `end`.
template <int per_chunk>
struct Edges {
    int begin = 0, end = per_chunk;

    [[nodiscard]] __device__ __forceinline__ bool are_whole() const {
        return begin == 0 && end == per_chunk;
    }
    [[nodiscard]] __device__ __forceinline__ float count() const {
        return static_cast<float>(end - begin);
    }
    /// A value in the place of a neighbour's elements.
    __device__ __forceinline__ void mask(float (&x)[per_chunk], float value) const {
        if (!are_whole()) {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[e] = e < begin || e >= end ? value : x[e];
            }
        }
    }
};

/// What a thread has seen of a softmax: the sum is of exponentials of elements less the largest.
template <DType type, int per_chunk>
struct SoftmaxSoFar {
    float largest = -INFINITY, sum = 0;

    __device__ __forceinline__ static float share(float v, float largest) {
        return exponential<type>(v - (largest == -INFINITY ? 0.0F : largest));
    }
    __device__ __forceinline__ void add(float (&x)[per_chunk], Edges<per_chunk> edges) {
        edges.mask(x, -INFINITY);
        float now = largest;
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            now = Largest()(now, x[e]);
        }
        float of_chunk = 0;
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            of_chunk += share(x[e], now);
        }
        sum = sum * share(largest, now) + of_chunk;
        largest = now;
    }
    [[nodiscard]] __device__ __forceinline__ float first() const { return largest; }
    /// The sum, had it been taken with the row's statistic, which is its largest element negated.
    [[nodiscard]] __device__ __forceinline__ float second(float statistic) const {
        return sum * share(largest, -statistic);
    }
};
/// And of a variance: chunks are merged as T. Chan, G. Golub and R. LeVeque do ("Updating Formulae
/// and a Pairwise Algorithm for Computing Sample Variances", 1979).
template <int per_chunk>
struct VarianceSoFar {
    float sum = 0, count = 0, mean = 0, squares = 0;

    __device__ __forceinline__ void add(float (&x)[per_chunk], Edges<per_chunk> edges) {
        edges.mask(x, 0);
        float of_chunk = 0;
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            of_chunk += x[e];
        }
        sum += of_chunk;
        const float mean_of_chunk = of_chunk / edges.count();
        edges.mask(x, mean_of_chunk);
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            squares = fmaf(x[e] - mean_of_chunk, x[e] - mean_of_chunk, squares);
        }
        const float apart = mean_of_chunk - mean;
        const float share = edges.count() * ptx::rcp_approx_ftz_f32(count + edges.count());
        squares = fmaf(apart * count, apart * share, squares);  // 0 where nothing was seen
        mean = fmaf(apart, share, mean);
        count += edges.count();
    }
    [[nodiscard]] __device__ __forceinline__ float first() const { return sum; }
    /// The squares, had they been of elements plus the statistic, the row's mean negated.
    [[nodiscard]] __device__ __forceinline__ float second(float statistic) const {
        return fmaf((mean + statistic) * count, mean + statistic, squares);
    }
};

template <DType type, std::size_t chain, int threads, bool whole>
struct KeptRow {
    static constexpr RowProgram program = compiled_programs[chain];
    static constexpr int per_chunk = gpu::chunk_of<type>;
    static constexpr int matrices = matrices_of(program);
    /// A thread's copies of a row are waited for in so many groups, in the order of its chunks.
    static constexpr int groups = 4;
    static constexpr int vectors = steps_before(program, program.size, takes_vector);
    /// Chunks that a thread stores while what is the same for all rows is on its way for as many.
    static constexpr int at_once = matrices > 1                ? (whole ? 2 : 1)
                                   : vectors > (whole ? 1 : 0) ? 2
                                                               : 4;
    /// Not where two chunks are joined for one, or of two matrices: a thread has no registers for
    /// more.
    static constexpr bool operands_ahead = whole && matrices == 1;
    using Operands = uint4[vectors > 0 ? vectors : 1][at_once];
    using Params = KeptParams<compiled_programs[chain].result + 1>;

    const Params& p;
    uint4* kept;               ///< this CTA's section of the row, in shared memory: of each matrix
    float* partial;            ///< two rows of 32 floats behind it, for the warps of the CTA
    KeptSum* sums;             ///< two rows of one for each CTA of the cluster, used in turn
    std::uint32_t number = 0;  ///< of the row that the cluster takes next, in who has asked for it
    int rank;                  ///< among them
    int first;                 ///< chunk of the row that the section begins with
    int section;               ///< chunks that it has room for
    int of_group;  ///< those of a group of all threads, a multiple of what they take at a time
    int turn = 0;
    float left[reductions_before(program, program.size) + 1];  ///< what reductions have left
    float x[1][per_chunk];

    __device__ __forceinline__ KeptRow(const Params& params, uint4* shared)
        : p(params), kept(shared), rank(static_cast<int>(blockIdx.x) % params.cluster) {
        const std::int64_t bytes = bytes_of_chunks(p.width, gpu::width_of<type>, whole);
        section = chunks_of_section(bytes / 16, p.cluster);
        partial = reinterpret_cast<float*>(shared + matrices * section);
        sums = reinterpret_cast<KeptSum*>(partial + 64);
        first = rank * section;
        constexpr int step = threads * at_once;
        of_group = (section + step * groups - 1) / (step * groups) * step;
    }

    /// Elements of the row before that stand in a row's first chunk.
    __device__ __forceinline__ int shift_of(std::int32_t row) const {
        return whole ? 0 : static_cast<int>(row * p.width) & (per_chunk - 1);
    }
    __device__ __forceinline__ char* section_of(std::int32_t row, int tensor) const {
        return p.tensors[tensor] + (row * p.width - shift_of(row)) * gpu::width_of<type> +
               16 * static_cast<std::int64_t>(first);
    }
    /// Chunks of the section that the row has a part of.
    __device__ __forceinline__ int length_of(std::int32_t row) const {
        const int positions = static_cast<int>(p.width) + shift_of(row);
        int length = min(max((positions + per_chunk - 1) / per_chunk - first, 0), section);
        // Else ptxas 13.0 makes one minimum of three of this and a group's end, and loses a sign:
        // the loop that asks for the next row then ran past the section (sm_90, -O3).
        asm("" : "+r"(length));
        return length;
    }
    __device__ __forceinline__ Edges<per_chunk> edges_of(int chunk, int shift) const {
        if constexpr (whole) {
            return {};
        }
        const int position = (first + chunk) * per_chunk;
        return {max(shift - position, 0),
                min(static_cast<int>(p.width) + shift - position, per_chunk)};
    }
    /// The thread's chunks of a group.
    __device__ __forceinline__ int begin_of(int group) const {
        return group * of_group + static_cast<int>(threadIdx.x);
    }
    __device__ __forceinline__ int end_of(int group, int length) const {
        return min(length, (group + 1) * of_group);
    }

    /// A group of its chunks of a row, on their way; of no row, none.
    __device__ __forceinline__ void ask(std::int32_t row, int group) const {
        if (row < p.rows) {
            ask_of<0>(row, group);
        }
        ptx::cp_async_commit_group();
    }
    /// Of a matrix, and of those behind it.
    template <int matrix>
    __device__ __forceinline__ void ask_of(std::int32_t row, int group) const {
        constexpr int tensor = tensor_of(program, matrix);
        const char* from = section_of(row, tensor);
        const int end = end_of(group, length_of(row));
        const auto to =
            static_cast<std::uint32_t>(__cvta_generic_to_shared(kept + matrix * section));
        for (int chunk = begin_of(group); chunk < end; chunk += threads) {
            // What stands behind the matrix may not be read.
            const int bytes = edges_of(chunk, shift_of(row)).end * gpu::width_of<type>;
            ptx::cp_async_cg_16(to + 16 * static_cast<std::uint32_t>(chunk), from + 16 * chunk,
                                bytes);
        }
        if constexpr (matrix + 1 < matrices) {
            ask_of<matrix + 1>(row, group);
        }
    }

    __device__ __forceinline__ void store(char* to, int chunk, int shift) {
        const Edges<per_chunk> edges = edges_of(chunk, shift);
        if (edges.are_whole()) {
            gpu::store_chunk<type>(to, chunk, static_cast<std::int32_t>(p.width), true, x[0]);
        } else {
            store_elements<type>(to + 16 * static_cast<std::int64_t>(chunk),
                                 packed_chunk<type>(x[0]), edges.begin, edges.end);
        }
    }

    /// Steps from `i` to before `end` on the elements of one chunk, with what reductions have left.
    /// What is the same for all rows comes behind the last reduction, and a result between is
    /// stored when the steps go to the end.
    template <int end, int i = 0>
    __device__ __forceinline__ void steps_to(std::int32_t row, int chunk, const Operands& operands,
                                             int of_operands) {
        if constexpr (i < end) {
            constexpr RowOp op = program.list[i].op;
            constexpr int reductions = reductions_before(program, i);
            if constexpr (takes_vector(op)) {
                constexpr int its_own = steps_before(program, i, takes_vector);
                const uint4 operand[1] = {operands[its_own][of_operands]};
                apply_chunks<type, op>(x, operand);
            } else if constexpr (takes_matrix(op)) {
                constexpr int its_own = 1 + steps_before(program, i, takes_matrix);
                const uint4 operand[1] = {kept[its_own * section + chunk]};
                apply_chunks<type, op>(x, operand);
            } else if constexpr (op == RowOp::store) {
                if constexpr (end == program.size) {
                    store(section_of(row, program.list[i].tensor), chunk, shift_of(row));
                }
            } else if constexpr (!is_reduction(op)) {
                apply_to_all<type, op>(x, left[reductions > 0 ? reductions - 1 : 0]);
            }
            steps_to<end, i + 1>(row, chunk, operands, of_operands);
        }
    }
    /// Of the chunks that a thread stores from `begin` on, what is the same for all rows. It has
    /// its chunks elsewhere where rows begin inside of one: two are joined.
    template <int i = 0>
    __device__ __forceinline__ void load_operands(std::int32_t row, int begin,
                                                  Operands& operands) const {
        if constexpr (i < program.size) {
            constexpr RowInstruction its = program.list[i];
            if constexpr (takes_vector(its.op)) {
                constexpr int its_own = steps_before(program, i, takes_vector);
                const int length = length_of(row);
#pragma unroll
                for (int a = 0; a < at_once; ++a) {
                    const int chunk = begin + a * threads;
                    if (chunk < length) {
                        operands[its_own][a] = operand_of(its.tensor, chunk, shift_of(row));
                    }
                }
            }
            load_operands<i + 1>(row, begin, operands);
        }
    }
    __device__ __forceinline__ uint4 operand_of(int tensor, int chunk, int shift) const {
        const char* vector = p.tensors[tensor];
        if constexpr (whole) {
            return __ldg(reinterpret_cast<const uint4*>(vector) + first + chunk);
        } else {
            const int position = (first + chunk) * per_chunk;
            const auto end = static_cast<int>(p.width);
            TwoChunks<type> two;
            two.load(vector, position, end, shift, position > 0);
            if (position + per_chunk > end) {
                two.load_end(vector, position, end);
            }
            return joined<type>(two.before, two.after, shift);
        }
    }

    /// Calls `add` with the edges of each of the thread's chunks, whose elements are those before
    /// reduction `i`, as they come or all at once.
    template <int i, int group = 0, class Add>
    __device__ __forceinline__ void each_chunk(std::int32_t row, const Add& add) {
        if constexpr (group < groups) {
            if constexpr (reductions_before(program, i) == 0) {
                ptx::cp_async_wait_group<groups - 1 - group>();
            }
#pragma unroll(matrices > 1 ? 1 : 2)
            for (int chunk = begin_of(group); chunk < end_of(group, length_of(row));
                 chunk += threads) {
                gpu::widen<type>(kept[chunk], x[0]);
                steps_to<i>(row, chunk, {}, 0);
                add(edges_of(chunk, shift_of(row)));
            }
            each_chunk<i, group + 1>(row, add);
        }
    }
    /// One reduction over the thread's chunks.
    template <int i>
    __device__ __forceinline__ float over_mine(std::int32_t row) {
        constexpr RowOp op = program.list[i].op;
        static_assert(steps_before(program, i, takes_vector) == 0);
        float so_far = start_of(op);
        each_chunk<i>(row, [&](Edges<per_chunk> edges) {
            edges.mask(x[0], start_of(op));
            so_far = with_chunk<op>(so_far, x[0]);
        });
        return so_far;
    }
    /// SMs are not equally near to all memory: a cluster takes the next row that none has taken.
    /// One thread asks for its number when a row begins, and has it when the row's sums meet.
    __device__ __forceinline__ void ask_for_next() {
        if (p.handed_out != nullptr && rank == 0 && threadIdx.x == 0) {
            number = atomicAdd(p.handed_out, 1U);
        }
    }
    /// Where rows are not handed out, the one so many further on as there are clusters.
    [[nodiscard]] __device__ __forceinline__ std::int32_t next_of(std::int32_t row) const {
        const auto from =
            p.handed_out == nullptr ? row : static_cast<std::int32_t>(sums_of(turn - 1)->number);
        return from + static_cast<std::int32_t>(gridDim.x) / p.cluster;
    }
    [[nodiscard]] __device__ __forceinline__ KeptSum* sums_of(int its_turn) const {
        return sums + most_kept_cluster * (its_turn & 1);
    }
    /// The barrier of a turn is complete when the sums of all CTAs have come.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t barrier_of(int its_turn) const {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(sums + 2 * most_kept_cluster)) +
               8 * static_cast<std::uint32_t>(its_turn & 1);
    }
    __device__ __forceinline__ void expect_sums(std::uint32_t barrier) const {
        ptx::mbarrier_arrive_expect_tx(
            barrier, static_cast<std::uint32_t>(p.cluster) * std::uint32_t{sizeof(KeptSum)});
    }
    /// Over the row. Sums come by themselves, and nobody waits for the stores of the row before, as
    /// a barrier of the cluster would. The wait acquires for the CTA alone, since one for the
    /// cluster throws away what L1 holds: behind it nothing of another CTA may be read but what was
    /// sent to its barrier. Who sends those of a turn has had all of the turn before: so everyone
    /// has read what stood in their places.
    template <class Operator>
    __device__ __forceinline__ float over_cluster(float mine, Operator op) {
        float all = over_row<threads>(mine, op, partial, turn);
        if (p.cluster > 1) {
            const KeptSum* of_ctas = sums_of(turn);
            const std::uint32_t barrier = barrier_of(turn);
            if (threadIdx.x < 32) {
                const std::uint32_t next = __shfl_sync(all_lanes, number, 0);
                if (static_cast<int>(threadIdx.x) < p.cluster) {
                    ptx::st_async_b32x2(
                        static_cast<std::uint32_t>(__cvta_generic_to_shared(of_ctas + rank)),
                        barrier, threadIdx.x, __float_as_uint(all), next);
                }
            }
            ptx::mbarrier_wait_parity(barrier, static_cast<std::uint32_t>(turn / 2) & 1);
            if (threadIdx.x == 0) {
                expect_sums(barrier);
            }
            all = of_ctas[0].sum;
            for (int other = 1; other < p.cluster; ++other) {
                all = op(all, of_ctas[other].sum);
            }
        }
        ++turn;
        return all;
    }

    /// What reduction `i` leaves, of the lanes' parts.
    template <int i>
    __device__ __forceinline__ void leave(float mine) {
        constexpr RowInstruction its = program.list[i];
        const float all = over_cluster(mine, Combination<its.op>());
        constexpr int its_own = reductions_before(program, i);
        left[its_own] = finished(its.finish, all, static_cast<float>(p.width), p.eps);
    }
    template <int i, class SoFar>
    __device__ __forceinline__ void leave_pair(std::int32_t row) {
        SoFar so_far;
        each_chunk<i>(row, [&](Edges<per_chunk> edges) { so_far.add(x[0], edges); });
        leave<i>(so_far.first());
        leave<pair_of(program).at>(so_far.second(left[0]));
    }
    /// Reduction `i`, if there is one, and those behind it.
    template <int i = 0>
    __device__ __forceinline__ void reduce_from(std::int32_t row) {
        if constexpr (i < program.size) {
            constexpr RowOp op = program.list[i].op;
            constexpr ReductionPair pair = pair_of(program);
            if constexpr (i == first_reduction(program) && pair.at > 0) {
                if constexpr (pair.of_softmax) {
                    leave_pair<i, SoftmaxSoFar<type, per_chunk>>(row);
                } else {
                    leave_pair<i, VarianceSoFar<per_chunk>>(row);
                }
                reduce_from<pair.at + 1>(row);
            } else {
                if constexpr (is_reduction(op)) {
                    leave<i>(over_mine<i>(row));
                }
                reduce_from<i + 1>(row);
            }
        }
    }
    /// Operands of the chunks from `begin` on, and those behind them asked for.
    __device__ __forceinline__ void take_operands(std::int32_t row, int begin, Operands& ahead,
                                                  Operands& here) const {
        if constexpr (!operands_ahead) {
            load_operands(row, begin, here);
        } else {
#pragma unroll
            for (int v = 0; v < vectors; ++v) {
#pragma unroll
                for (int a = 0; a < at_once; ++a) {
                    here[v][a] = ahead[v][a];
                }
            }
            load_operands(row, begin + at_once * threads, ahead);
        }
    }
    /// Stores the result group by group, and asks for the next row's in its place.
    __device__ __forceinline__ void finish(std::int32_t row, std::int32_t next, Operands& ahead) {
        char* to = section_of(row, program.result);
        const int length = length_of(row);
        for (int group = 0; group < groups; ++group) {
            const int end = end_of(group, length);
            for (int begin = begin_of(group); begin < end; begin += at_once * threads) {
                Operands here;
                take_operands(row, begin, ahead, here);
#pragma unroll
                for (int a = 0; a < at_once; ++a) {
                    const int chunk = begin + a * threads;
                    if (chunk < length) {
                        gpu::widen<type>(kept[chunk], x[0]);
                        steps_to<program.size>(row, chunk, here, a);
                        store(to, chunk, shift_of(row));
                    }
                }
            }
            ask(next, group);
        }
    }

    __device__ __forceinline__ void run() {
        for (int group = 0; group < groups; ++group) {
            ask(static_cast<std::int32_t>(blockIdx.x) / p.cluster, group);
        }
        if (p.cluster > 1) {
            if (threadIdx.x == 0) {
                for (int each = 0; each < 2; ++each) {
                    ptx::mbarrier_init(barrier_of(each), 1);
                }
                ptx::fence_mbarrier_init();
                for (int each = 0; each < 2; ++each) {
                    expect_sums(barrier_of(each));
                }
            }
            ptx::barrier_cluster();  // a CTA that has not begun has no barriers yet
        }
        for (auto row = static_cast<std::int32_t>(blockIdx.x) / p.cluster; row < p.rows;) {
            ask_for_next();
            Operands ahead;
            if constexpr (operands_ahead) {
                load_operands(row, static_cast<int>(threadIdx.x), ahead);
            }
            reduce_from(row);
            const std::int32_t next = next_of(row);
            finish(row, next, ahead);
            row = next;
        }
    }
};

template <DType type, std::size_t chain, int threads, bool whole>
__global__ void __launch_bounds__(threads, kept_threads_of_sm / threads)
    kept_rows(const __grid_constant__ KeptParams<compiled_programs[chain].result + 1> p) {
    extern __shared__ uint4 dynamic_shared[];
    KeptRow<type, chain, threads, whole> kept(p, dynamic_shared);
    kept.run();
}

}  // namespace raceline::kernels::rows_cuda
