// SPDX-License-Identifier: Apache-2.0
// A chain whose steps are known when it is compiled (compiled_chains.hpp), on rows of whole chunks
// of 16 bytes that their lanes hold. A CTA takes its rows and ends: SMs are not equally near to all
// memory, and what the next CTA reads is asked for when one has ended, not when all have.
#pragma once

#include "gpu/ptx/prefetch_l2.cuh"
#include "kernels/rows_cuda/row_parts.cuh"
#include "workload/compiled_chains.hpp"

namespace raceline::kernels::rows_cuda {

/// What a launch is given. Few bytes: an SM that has not run the kernel yet fetches them line by
/// line before anything else, and the program is known.
template <int tensor_count>
struct HeldParams {
    std::int64_t rows, width;
    std::int64_t elements;  ///< of the matrix
    std::int32_t segments;  ///< of a row, where these are dealt out
    std::int32_t head;      ///< columns that rope turns together
    float eps;
    char* tensors[tensor_count];
};

template <std::size_t chain>
using ParamsOf = HeldParams<compiled_programs[chain].result + 1>;

/// The compiler may not keep what it has computed of these.
__device__ __forceinline__ void forget_results_of(uint4& v) {
    asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w));
}

template <DType type, std::size_t chain, int index>
struct HeldRows {
    static constexpr Tile tile = tile_list[index];
    static constexpr RowProgram program = compiled_programs[chain];
    static constexpr int lanes = tile.lanes, chunks = tile.chunks, per_chunk = gpu::chunk_of<type>;
    static constexpr int matrices = 1 + steps_before(program, program.size, takes_matrix);
    static constexpr int vectors = steps_before(program, program.size, takes_vector);
    static constexpr bool vectors_ahead = holds_vectors(tile);
    static constexpr bool flat = !knows_rows(program);
    static constexpr bool in_segments = deals_out_segments(program);
    static constexpr bool angles_ahead = has_angles_ahead(program, chunks);

    const ParamsOf<chain>& p;
    float* partial;  ///< two rows of 32 floats in shared memory
    int lane;
    std::int64_t row;
    std::int64_t first;       ///< element of the row that this segment begins with
    std::int32_t in_row = 0;  ///< elements of this segment
    int turn = 0;
    uint4 raw[matrices][chunks];
    uint4 of_all[vectors_ahead && vectors > 0 ? vectors : 1]
                [chunks];  ///< rows that are the same for all
    float x[chunks][per_chunk];
    static constexpr int quads = per_chunk / 4;
    float4 cosine[has_rope(program) ? quads : 1], sine[has_rope(program) ? quads : 1];
    /// What the reductions have left, of a row whose elements are computed again from it.
    float left[recomputed_reductions(program, type) + 1];

    __device__ __forceinline__ std::int32_t length() const {
        if (row >= p.rows) {
            return 0;
        }
        if constexpr (flat) {
            const std::int64_t behind = p.elements - row * p.width;
            return static_cast<std::int32_t>(behind < p.width ? behind : p.width);
        } else if constexpr (in_segments) {
            constexpr std::int64_t held = static_cast<std::int64_t>(lanes) * chunks * per_chunk;
            return static_cast<std::int32_t>(p.width - first < held ? p.width - first : held);
        }
        return static_cast<std::int32_t>(p.width);
    }
    /// Where the segment stands in a tensor that has a row of its own for each (`by_row`), or one.
    __device__ __forceinline__ char* at(int tensor, bool by_row) const {
        return p.tensors[tensor] +
               ((by_row ? row * p.width : 0) + (in_segments ? first : 0)) * gpu::width_of<type>;
    }
    __device__ __forceinline__ int number(int chunk) const { return chunk * lanes + lane; }
    __device__ __forceinline__ bool is_there(int chunk) const {
        return number(chunk) * per_chunk < in_row;
    }

    /// Of this row, or of the one that is the same for all.
    __device__ __forceinline__ void load_chunks(int tensor, bool by_row,
                                                uint4 (&to)[chunks]) const {
        const auto* from = reinterpret_cast<const uint4*>(at(tensor, by_row));
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            to[c] = is_there(c) ? __ldg(from + number(c)) : make_uint4(0, 0, 0, 0);
        }
    }
    /// Every operand that the steps take, all at once: behind a reduction the lanes would wait for
    /// it once more.
    template <int i = 0, int known = 1, int known_of_all = 0>
    __device__ __forceinline__ void load_operands() {
        if constexpr (i < program.size) {
            constexpr RowInstruction its = program.list[i];
            constexpr bool matrix = takes_matrix(its.op);
            constexpr bool vector = takes_vector(its.op);
            if constexpr (matrix) {
                load_chunks(its.tensor, true, raw[known]);
            } else if constexpr (vector && vectors_ahead) {
                load_chunks(its.tensor, false, of_all[known_of_all]);
            } else if constexpr (its.op == RowOp::rope) {
                angles_ahead ? load_angles(its.tensor) : ask_for_angles(its.tensor);
            }
            load_operands<i + 1, known + (matrix ? 1 : 0), known_of_all + (vector ? 1 : 0)>();
        }
    }
    /// Lanes and columns of a head are powers of two, and a head lies in the lanes of a row: a
    /// thread turns the same columns of every head it holds a chunk of.
    __device__ __forceinline__ int column_of_head() const {
        return lane * per_chunk & (p.head - 1);
    }
    __device__ __forceinline__ bool is_upper() const { return column_of_head() >= p.head / 2; }
    __device__ __forceinline__ void load_angles(int tensor) {
        const auto* of_row = reinterpret_cast<const float*>(p.tensors[tensor]) + row * p.head;
        const auto* cosines = reinterpret_cast<const float4*>(
            of_row + (is_upper() ? column_of_head() - p.head / 2 : column_of_head()));
        const auto* sines = cosines + p.head / 8;
#pragma unroll
        for (int q = 0; q < quads; ++q) {
            cosine[q] = in_row > 0 ? __ldg(cosines + q) : make_float4(0, 0, 0, 0);
            sine[q] = in_row > 0 ? __ldg(sines + q) : make_float4(0, 0, 0, 0);
        }
    }

    /// Into the L2, until they are loaded.
    __device__ __forceinline__ void ask_for_angles(int tensor) const {
        constexpr int floats_of_line = 128 / sizeof(float);
        const float* angles = reinterpret_cast<const float*>(p.tensors[tensor]) + row * p.head;
        if (row < p.rows && lane * floats_of_line < p.head) {
            ptx::prefetch_global_l2(angles + lane * floats_of_line);
        }
    }

    __device__ __forceinline__ void store(int tensor) const {
        char* to = at(tensor, true);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                gpu::store_chunk<type>(to, number(c), in_row, true, x[c]);
            }
        }
    }

    /// What a reduction makes of this lane's chunks of the row.
    template <RowOp op>
    __device__ __forceinline__ float over_mine() const {
        float result = start_of(op);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                result = with_chunk<op>(result, x[c]);
            }
        }
        return result;
    }

    /// Halves of heads, whose partners lie in other lanes of the warp.
    __device__ __forceinline__ void rope() {
        const int apart = p.head / 2 / per_chunk;
        const bool upper = is_upper();
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
#pragma unroll
            for (int q = 0; q < quads; ++q) {
                turn_element(x[c][4 * q], cosine[q].x, sine[q].x, apart, upper);
                turn_element(x[c][4 * q + 1], cosine[q].y, sine[q].y, apart, upper);
                turn_element(x[c][4 * q + 2], cosine[q].z, sine[q].z, apart, upper);
                turn_element(x[c][4 * q + 3], cosine[q].w, sine[q].w, apart, upper);
            }
        }
    }
    __device__ __forceinline__ static void turn_element(float& v, float cosine, float sine,
                                                        int apart, bool upper) {
        const float turned = __shfl_xor_sync(all_lanes, v, apart) * sine;
        v = fmaf(v, cosine, upper ? turned : -turned);
    }

    __device__ __forceinline__ void widen_row() {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            gpu::widen<type>(raw[0][c], x[c]);
        }
    }
    /// The elements once more, as they were before reduction `end`, from the row as it was loaded:
    /// while the lanes wait for each other that takes half the registers, and an SM has more rows
    /// on their way.
    template <int end>
    __device__ __forceinline__ void recompute() {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            forget_results_of(raw[0][c]);
        }
        widen_row();
        again<end>();
    }
    template <int end, int i = 0, int reductions = 0>
    __device__ __forceinline__ void again() {
        if constexpr (i < end) {
            constexpr RowOp op = program.list[i].op;
            if constexpr (!is_reduction(op)) {
                apply_to_all<type, op>(x, left[reductions - 1]);
            }
            again<end, i + 1, reductions + (is_reduction(op) ? 1 : 0)>();
        }
    }

    /// Step `i` and those behind it.
    template <int i = 0>
    __device__ __forceinline__ void run_from(float statistic) {
        if constexpr (i == program.size) {
            store(program.result);
        } else {
            constexpr RowInstruction its = program.list[i];
            if constexpr (is_reduction(its.op)) {
                const float mine = over_mine<its.op>();
                const float all = over_row<lanes>(mine, Combination<its.op>(), partial, turn++);
                statistic = finished(its.finish, all, static_cast<float>(p.width), p.eps);
                if constexpr (is_recomputed(program, type, i)) {
                    constexpr int its_own = reductions_before(program, i);
                    left[its_own] = statistic;
                    recompute<i>();
                }
            } else if constexpr (takes_matrix(its.op)) {
                constexpr int its_own = 1 + steps_before(program, i, takes_matrix);
                apply_chunks<type, its.op>(x, raw[its_own]);
            } else if constexpr (takes_vector(its.op)) {
                constexpr int its_own = vectors_ahead ? steps_before(program, i, takes_vector) : 0;
                if constexpr (!vectors_ahead) {
                    load_chunks(its.tensor, false, of_all[its_own]);
                }
                apply_chunks<type, its.op>(x, of_all[its_own]);
            } else if constexpr (its.op == RowOp::rope) {
                if constexpr (!angles_ahead) {
                    load_angles(its.tensor);
                }
                rope();
            } else if constexpr (its.op == RowOp::store) {
                store(its.tensor);
            } else {
                apply_to_all<type, its.op>(x, statistic);
            }
            run_from<i + 1>(statistic);
        }
    }

    __device__ __forceinline__ void run() {
        in_row = length();
        load_chunks(0, true, raw[0]);
        load_operands();
        widen_row();
        run_from(0.0F);
    }
};

template <DType type, std::size_t chain, int index>
__global__ void __launch_bounds__(tile_list[index].threads,
                                  residents_of(tile_list[index], compiled_programs[chain]))
    held_rows(const __grid_constant__ ParamsOf<chain> p) {
    constexpr Tile tile = tile_list[index];
    constexpr int together = tile.threads / tile.lanes;
    __shared__ float partial[64];
    std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * together + threadIdx.x / tile.lanes;
    std::int64_t first = 0;
    if constexpr (deals_out_segments(compiled_programs[chain])) {
        const auto segment = static_cast<unsigned>(row),
                   segments = static_cast<unsigned>(p.segments);
        row = segment / segments;
        first = static_cast<std::int64_t>(segment % segments) * tile.lanes * tile.chunks *
                gpu::chunk_of<type>;
    }
    // Lanes of a half warp behind the last row go along with nothing: they exchange with the
    // others.
    if (tile.lanes >= 32 && row >= p.rows) {
        return;
    }
    HeldRows<type, chain, index> rows{p, partial, static_cast<int>(threadIdx.x) % tile.lanes, row,
                                      first};
    rows.run();
}

}  // namespace raceline::kernels::rows_cuda
