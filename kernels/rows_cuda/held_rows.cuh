// SPDX-License-Identifier: Apache-2.0
// A chain whose steps are known when it is compiled (chains.hpp), on rows of whole chunks of 16
// bytes that their lanes hold. While a row is worked on the next one is on its way from memory,
// where the registers suffice; gains and biases, which are the same for all rows, are read once.
#pragma once

#include "kernels/rows_cuda/chains.hpp"
#include "kernels/rows_cuda/row_parts.cuh"

namespace raceline::kernels::rows_cuda {

/// Of the first `end` steps of a program, how many take such an operand.
template <class Takes>
constexpr int operands_before(const RowProgram& program, int end, Takes takes) {
    return static_cast<int>(
        std::ranges::count_if(program.steps().first(end), takes, &RowInstruction::op));
}

template <DType type, std::size_t chain, int index>
struct HeldRows {
    static constexpr Tile tile = tile_list[index];
    static constexpr RowProgram program = compiled_programs[chain];
    static constexpr int lanes = tile.lanes, chunks = tile.chunks, per_chunk = gpu::chunk_of<type>;
    static constexpr int matrices = 1 + operands_before(program, program.size, takes_matrix);
    static constexpr int vectors = operands_before(program, program.size, takes_vector);
    static constexpr bool flat = !knows_rows(program);
    // Whether registers suffice for the next row beside this one.
    static constexpr bool ahead = registers_of(tile) >= 32 * chunks;
    static constexpr bool keeps_vectors = ahead && vectors == 1 && matrices == 1;

    const Params& p;
    float* partial;  ///< two rows of 32 floats in shared memory
    int lane;
    int turn = 0;
    std::int64_t row = 0;
    std::int32_t in_row = 0;  ///< elements of this row
    uint4 of_all[chunks];     ///< the gain or bias, if it is kept
    uint4 raw[matrices][chunks];
    float x[chunks][per_chunk];

    __device__ __forceinline__ std::int32_t length_of(std::int64_t of) const {
        if constexpr (flat) {
            const std::int64_t left = p.layout.elements - of * p.layout.width;
            return static_cast<std::int32_t>(left < p.layout.width ? left : p.layout.width);
        }
        return static_cast<std::int32_t>(p.layout.width);
    }
    __device__ __forceinline__ int number(int chunk) const { return chunk * lanes + lane; }
    __device__ __forceinline__ bool is_there(int chunk) const {
        return number(chunk) * per_chunk < in_row;
    }

    __device__ __forceinline__ void load_chunks(int tensor, std::int64_t of, std::int32_t length,
                                                uint4 (&to)[chunks]) const {
        const auto* from = reinterpret_cast<const uint4*>(
            p.tensors[tensor] + of * p.layout.width * gpu::width_of<type>);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            to[c] =
                number(c) * per_chunk < length ? __ldg(from + number(c)) : make_uint4(0, 0, 0, 0);
        }
    }
    /// What the program's step `i` and those behind it take from memory for a row.
    template <int i = 0, int known = 1>
    __device__ __forceinline__ void load_operands(std::int64_t of, std::int32_t length) {
        if constexpr (i < program.size) {
            constexpr RowInstruction its = program.list[i];
            constexpr bool takes = takes_matrix(its.op);
            if constexpr (takes) {
                load_chunks(its.tensor, of, length, raw[known]);
            }
            load_operands<i + 1, known + (takes ? 1 : 0)>(of, length);
        }
    }
    __device__ __forceinline__ void load(std::int64_t of) {
        const std::int32_t length = length_of(of);
        load_chunks(0, of, length, raw[0]);
        load_operands(of, length);
    }
    __device__ __forceinline__ void load_vector(int tensor, uint4 (&to)[chunks]) const {
        load_chunks(tensor, 0, static_cast<std::int32_t>(p.layout.width), to);
    }
    template <int i = 0>
    __device__ __forceinline__ void keep_vector() {
        if constexpr (takes_vector(program.list[i].op)) {
            constexpr int tensor = program.list[i].tensor;
            load_vector(tensor, of_all);
        } else {
            keep_vector<i + 1>();
        }
    }

    __device__ __forceinline__ void store(int tensor) const {
        char* to = p.tensors[tensor] + row * p.layout.width * gpu::width_of<type>;
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                gpu::store_chunk<type>(to, number(c), in_row, true, x[c]);
            }
        }
    }

    template <RowOp op>
    __device__ __forceinline__ void each(float statistic) {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[c][e] = applied<type, op>(x[c][e], statistic);
            }
        }
    }
    template <RowOp op>
    __device__ __forceinline__ void with(const uint4 (&operands)[chunks]) {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            float operand[per_chunk];
            gpu::widen<type>(operands[c], operand);
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[c][e] = applied<type, op>(x[c][e], operand[e]);
            }
        }
    }
    /// Of the chunks of the row alone, each by itself first: sums that do not wait for each other.
    template <RowOp op>
    __device__ __forceinline__ float over_mine() const {
        float result = start_of(op);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                float of_chunk = start_of(op);
#pragma unroll
                for (int e = 0; e < per_chunk; ++e) {
                    of_chunk = reduced<op>(of_chunk, x[c][e]);
                }
                result = op == RowOp::reduce_max ? Largest()(result, of_chunk) : result + of_chunk;
            }
        }
        return result;
    }

    /// Halves of heads, whose partners lie in other lanes of the warp.
    __device__ __forceinline__ void rope(int tensor) {
        const int half = p.head / 2;
        const int apart = half / per_chunk;
        const auto* angles = reinterpret_cast<const float*>(p.tensors[tensor]) + row * p.head;
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            const int column = number(c) * per_chunk & (p.head - 1);
            const bool upper = column >= half;
            const auto* cosines =
                reinterpret_cast<const float4*>(angles + (upper ? column - half : column));
            const auto* sines = cosines + half / 4;
            const bool there = is_there(c);
#pragma unroll
            for (int q = 0; q < per_chunk / 4; ++q) {
                const float4 none = make_float4(0, 0, 0, 0);
                const float4 cosine = there ? __ldg(cosines + q) : none;
                const float4 sine = there ? __ldg(sines + q) : none;
                turn_element(x[c][4 * q], cosine.x, sine.x, apart, upper);
                turn_element(x[c][4 * q + 1], cosine.y, sine.y, apart, upper);
                turn_element(x[c][4 * q + 2], cosine.z, sine.z, apart, upper);
                turn_element(x[c][4 * q + 3], cosine.w, sine.w, apart, upper);
            }
        }
    }
    __device__ __forceinline__ static void turn_element(float& v, float cosine, float sine,
                                                        int apart, bool upper) {
        const float turned = __shfl_xor_sync(all_lanes, v, apart) * sine;
        v = fmaf(v, cosine, upper ? turned : -turned);
    }

    /// Step `i` and those behind it.
    template <int i = 0>
    __device__ __forceinline__ void run_from(const uint4 (&operands)[matrices][chunks],
                                             float statistic) {
        if constexpr (i == program.size) {
            store(program.result);
        } else {
            constexpr RowInstruction its = program.list[i];
            if constexpr (is_reduction(its.op)) {
                const float mine = over_mine<its.op>();
                float all = 0;
                if constexpr (its.op == RowOp::reduce_max) {
                    all = over_row<lanes>(mine, Largest(), partial, turn++);
                } else {
                    all = over_row<lanes>(mine, Sum(), partial, turn++);
                }
                statistic = finished(its.finish, all, static_cast<float>(p.layout.width), p.eps);
            } else if constexpr (takes_matrix(its.op)) {
                constexpr int its_own = 1 + operands_before(program, i, takes_matrix);
                with<its.op>(operands[its_own]);
            } else if constexpr (takes_vector(its.op)) {
                if constexpr (!keeps_vectors) {
                    load_vector(its.tensor, of_all);
                }
                with<its.op>(of_all);
            } else if constexpr (its.op == RowOp::rope) {
                rope(its.tensor);
            } else if constexpr (its.op == RowOp::store) {
                store(its.tensor);
            } else {
                each<its.op>(statistic);
            }
            run_from<i + 1>(operands, statistic);
        }
    }

    __device__ __forceinline__ void run(std::int64_t first, std::int64_t apart) {
        row = first;
        if (row >= p.layout.rows) {
            return;
        }
        if constexpr (keeps_vectors) {
            keep_vector();
        }
        load(row);
        for (;;) {
            uint4 operands[matrices][chunks];
#pragma unroll
            for (int m = 0; m < matrices; ++m) {
#pragma unroll
                for (int c = 0; c < chunks; ++c) {
                    operands[m][c] = raw[m][c];
                }
            }
            in_row = length_of(row);
#pragma unroll
            for (int c = 0; c < chunks; ++c) {
                gpu::widen<type>(operands[0][c], x[c]);
            }
            const std::int64_t next = row + apart;
            if (ahead && next < p.layout.rows) {
                load(next);
            }
            run_from(operands, 0.0F);
            if (next >= p.layout.rows) {
                return;
            }
            if (!ahead) {
                load(next);
            }
            row = next;
        }
    }
};

template <DType type, std::size_t chain, int index>
__global__ void __launch_bounds__(tile_list[index].threads, residents_of(tile_list[index]))
    held_rows(const __grid_constant__ Params p) {
    constexpr Tile tile = tile_list[index];
    constexpr int together = tile.threads / tile.lanes;
    __shared__ float partial[64];
    HeldRows<type, chain, index> rows{p, partial, static_cast<int>(threadIdx.x) % tile.lanes};
    rows.run(static_cast<std::int64_t>(blockIdx.x) * together + threadIdx.x / tile.lanes,
             static_cast<std::int64_t>(gridDim.x) * together);
}

}  // namespace raceline::kernels::rows_cuda
