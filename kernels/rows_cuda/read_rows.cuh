// SPDX-License-Identifier: Apache-2.0
// Any chain, read step by step. A row lies in the registers of a warp or a CTA while the steps go
// over it; only operands and results touch memory. Every thread reads the program from constant
// memory and all take the same way. A row that is too wide is read again in pieces for each
// reduction.
#pragma once

#include "kernels/rows_cuda/row_parts.cuh"

namespace raceline::kernels::rows_cuda {

/// A thread's part of a piece of a row, and what it knows of the row. `aligned`: chunks are whole
/// and lie at multiples of 16 bytes.
template <DType type, int lanes, int chunks, bool aligned>
struct Piece {
    static constexpr bool in_rows = true;
    static constexpr int per_chunk = gpu::chunk_of<type>;
    static constexpr std::int64_t at_once = static_cast<std::int64_t>(lanes) * chunks * per_chunk;

    const Params& p;
    std::int64_t row;
    std::int64_t first;   ///< element of the row
    std::int32_t in_row;  ///< elements of the row behind `first`
    int lane;             ///< among those that share the row
    float x[chunks][per_chunk];

    /// Where the piece stands in a tensor that has a row of its own for each (`by_row`), or one.
    __device__ __forceinline__ char* at(int tensor, bool by_row) const {
        return p.tensors[tensor] +
               ((by_row ? row * p.layout.width : 0) + first) * gpu::width_of<type>;
    }
    __device__ __forceinline__ int number(int chunk) const { return chunk * lanes + lane; }
    __device__ __forceinline__ bool is_there(int chunk) const {
        return number(chunk) * per_chunk < in_row;
    }

    __device__ __forceinline__ uint4 load_one(int tensor, bool by_row, int c) const {
        return is_there(c) ? gpu::load_chunk<type>(at(tensor, by_row), number(c), in_row, aligned)
                           : make_uint4(0, 0, 0, 0);
    }

    /// Moves on to what begins at element `from` of row `to`.
    __device__ __forceinline__ void move(std::int64_t to, std::int64_t from) {
        row = to;
        first = from;
        const std::int64_t left = p.layout.elements - row * p.layout.width;
        const std::int64_t length = (left < p.layout.width ? left : p.layout.width) - first;
        in_row = static_cast<std::int32_t>(length < 0 ? 0 : length < at_once ? length : at_once);
    }
    __device__ __forceinline__ void load(uint4 (&raw)[chunks]) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = load_one(0, true, c);
        }
    }
    __device__ __forceinline__ void take(const uint4 (&raw)[chunks]) {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            gpu::widen<type>(raw[c], x[c]);
        }
    }

    __device__ __forceinline__ void store(int tensor) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                gpu::store_chunk<type>(at(tensor, true), number(c), in_row, aligned, x[c]);
            }
        }
    }

    template <RowOp op>
    __device__ __forceinline__ void each(float statistic = 0) {
        apply_to_all<type, op>(x, statistic);
    }

    template <RowOp op>
    __device__ __forceinline__ void with(int tensor) {
        uint4 raw[chunks];
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = load_one(tensor, takes_matrix(op), c);
        }
        apply_chunks<type, op>(x, raw);
    }

    /// Of the elements of the row alone: what stands behind its end does not count.
    template <RowOp op>
    __device__ __forceinline__ float over_mine(float result) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                if (aligned ? is_there(c) : number(c) * per_chunk + e < in_row) {
                    result = reduced<op>(result, x[c][e]);
                }
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
            const auto column = static_cast<int>((first + number(c) * per_chunk) & (p.head - 1));
            const bool upper = column >= half;
            const float* cosines = angles + (upper ? column - half : column);
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                const float partner = __shfl_xor_sync(all_lanes, x[c][e], apart);
                if (is_there(c)) {
                    const float turned = partner * __ldg(cosines + half + e);
                    x[c][e] = fmaf(x[c][e], __ldg(cosines + e), upper ? turned : -turned);
                }
            }
        }
    }

    __device__ __forceinline__ float reduce(RowOp op, float so_far) const {
        if (op == RowOp::reduce_max) {
            return over_mine<RowOp::reduce_max>(so_far);
        }
        return op == RowOp::reduce_sum ? over_mine<RowOp::reduce_sum>(so_far)
                                       : over_mine<RowOp::reduce_squares>(so_far);
    }
};

/// One row. `held`: its lanes hold it from the first step to the last. The piece that they take
/// next is in `ahead`, and they ask for the one behind it: it comes while the steps go over this
/// one.
template <DType type, int lanes, int chunks, bool held, bool aligned>
__device__ __forceinline__ void run_row(const Params& p, std::int64_t row, std::int64_t next_row,
                                        int lane, float* partial, float* statistics, int& turn,
                                        uint4 (&ahead)[chunks]) {
    using Part = Piece<type, lanes, chunks, aligned>;
    Part piece{p, row, 0, 0, lane, {}};
    const std::int64_t left = p.layout.elements - row * p.layout.width;
    const std::int64_t length = left < p.layout.width ? left : p.layout.width;
    // Lanes of a half warp behind the last row go along with nothing: they exchange with the
    // others.
    const std::int64_t walked = lanes < 32 ? p.layout.width : length;
    const RowInstruction* list = p.program.list.data();
    float statistic = 0;
    int from = 0;   // where this pass begins, of a row that is held
    int known = 0;  // reductions that are done
    for (int end = p.first_reduction;;) {
        const bool reduces = end < p.program.size;
        const RowOp op = reduces ? list[end].op : RowOp::store;
        float mine = start_of(op);
        for (std::int64_t first = 0; first < walked; first += Part::at_once) {
            if (!held || from == 0) {
                piece.move(row, first);
                piece.take(ahead);
                Part behind{p, row, 0, 0, lane, {}};
                if (first + Part::at_once < walked) {
                    behind.move(row, first + Part::at_once);
                } else {
                    behind.move(!held && reduces ? row : next_row, 0);
                }
                behind.load(ahead);
            }
            int done = 0;
            for (int i = held ? from : 0; i < end; ++i) {
                if (is_reduction(list[i].op)) {
                    if constexpr (!held) {
                        statistic = statistics[done++];
                    }
                    continue;
                }
                take_step(piece, list[i], statistic);
            }
            if (reduces) {
                mine = piece.reduce(op, mine);
            } else {
                piece.store(p.program.result);
            }
        }
        if (!reduces) {
            return;
        }
        mine = op == RowOp::reduce_max ? over_row<lanes>(mine, Largest(), partial, turn)
                                       : over_row<lanes>(mine, Sum(), partial, turn);
        ++turn;
        statistic = finished(list[end].finish, mine, static_cast<float>(length), p.eps);
        if constexpr (!held) {
            statistics[known++] = statistic;  // all lanes of the warp write the same
            __syncwarp();
        }
        from = end + 1;
        do {
            ++end;
        } while (end < p.program.size && !is_reduction(list[end].op));
    }
}

template <DType type, int index, bool held, bool aligned>
__global__ void __launch_bounds__(tile_list[index].threads, residents_reading(tile_list[index]))
    read_rows(const __grid_constant__ Params p) {
    constexpr Tile tile = tile_list[index];
    constexpr int together = tile.threads / tile.lanes;
    constexpr int of_warp = tile.lanes < 32 ? 32 / tile.lanes : 1;  // rows of a warp
    __shared__ float partial[64];
    __shared__ float statistics[tile.threads / 32][2 * longest_row_chain];
    const int lane = static_cast<int>(threadIdx.x) % tile.lanes;
    const int group = static_cast<int>(threadIdx.x) / tile.lanes;
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * together;
    std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * together + group;
    uint4 ahead[tile.chunks];
    Piece<type, tile.lanes, tile.chunks, aligned> its{p, row, 0, 0, lane, {}};
    its.move(row, 0);
    its.load(ahead);
    int turn = 0;
    for (; row - group % of_warp < p.layout.rows; row += stride) {
        run_row<type, tile.lanes, tile.chunks, held, aligned>(
            p, row, row + stride, lane, partial, statistics[threadIdx.x / 32], turn, ahead);
    }
}

}  // namespace raceline::kernels::rows_cuda
