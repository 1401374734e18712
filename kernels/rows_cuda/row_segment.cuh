// SPDX-License-Identifier: Apache-2.0
// A thread's part of a row, or of a segment of it, where no code knows the chain: where its chunks
// lie, and how they are loaded, changed, reduced and stored.
#pragma once

#include "kernels/rows_cuda/row_parts.cuh"
#include "kernels/rows_cuda/shifted_chunks.cuh"

namespace raceline::kernels::rows_cuda {

/// Positions count from the first chunk that the row has a part of. Where rows do not begin at
/// multiples of 16 bytes, the first `shift` of them are elements of the row before. A row whose end
/// lies in one chunk more than its lanes hold has that end in their place, in the first chunk.
template <DType type, int lanes, int chunks, Access access>
struct Segment {
    static constexpr bool in_rows = true;
    static constexpr DType its_type = type;
    static constexpr int of_row = lanes, its_chunks = chunks;
    static constexpr int per_chunk = gpu::chunk_of<type>;
    static constexpr std::int64_t at_once = static_cast<std::int64_t>(lanes) * chunks * per_chunk;

    const RowPlaces& p;
    int lane;              ///< among those that share the row
    std::int64_t row;      ///< its number
    std::int64_t first;    ///< position that the segment begins with
    std::int32_t shift;    ///< of the row
    std::int32_t begin;    ///< of the row in the segment: what stands before is a neighbour's
    std::int32_t in_row;   ///< end of the row in the segment, or of the segment
    std::int32_t wrapped;  ///< elements at the end of the row that stand first in the segment
    float x[chunks][per_chunk];

    /// Moves on to what begins at position `from` of row `to`.
    __device__ __forceinline__ void move(std::int64_t to, std::int64_t from) {
        row = to;
        first = from;
        shift = access == Access::shifted ? static_cast<int>(row * p.layout.width) & (per_chunk - 1)
                                          : 0;
        begin = first == 0 ? shift : 0;
        const std::int64_t left = row < p.layout.rows ? p.layout.width + shift - first : 0;
        in_row = static_cast<std::int32_t>(left < 0 ? 0 : left < at_once ? left : at_once);
        wrapped = access == Access::shifted && p.layout.width <= at_once && left > at_once
                      ? static_cast<std::int32_t>(left - at_once)
                      : 0;
    }

    /// Where the segment begins in a tensor that has a row of its own for each (`by_row`), or one.
    __device__ __forceinline__ char* at(int tensor, bool by_row) const {
        return p.tensors[tensor] +
               ((by_row ? row * p.layout.width : 0) + first - shift) * gpu::width_of<type>;
    }
    __device__ __forceinline__ int number(int chunk) const { return chunk * lanes + lane; }
    /// Whether the row has a part of a chunk; and whether all of it.
    __device__ __forceinline__ bool is_there(int chunk) const {
        return number(chunk) * per_chunk < in_row;
    }
    __device__ __forceinline__ bool is_before_end(int chunk) const {
        return number(chunk) * per_chunk + per_chunk <= in_row;
    }
    __device__ __forceinline__ bool is_inner(int chunk) const {
        return access == Access::whole ? is_there(chunk)
                                       : number(chunk) * per_chunk >= begin && is_before_end(chunk);
    }
    __device__ __forceinline__ bool is_of_row(int chunk, int element) const {
        const int position = number(chunk) * per_chunk + element;
        return position < wrapped || (position >= begin && position < in_row);
    }

    __device__ __forceinline__ void load(int tensor, bool by_row, uint4 (&raw)[chunks]) const {
        if constexpr (access != Access::shifted) {
            const char* from = at(tensor, by_row);
#pragma unroll
            for (int c = 0; c < chunks; ++c) {
                raw[c] = is_there(c) ? gpu::load_chunk<type>(from, number(c), in_row,
                                                             access == Access::whole)
                                     : make_uint4(0, 0, 0, 0);
            }
        } else {
            by_row ? load_shifted(tensor, raw) : load_vector(tensor, raw);
        }
    }
    /// Also neighbours' elements, but none behind the matrix: a row's last chunk may reach there if
    /// fewer elements than a chunk's stand behind the row.
    __device__ __forceinline__ void load_shifted(int tensor, uint4 (&raw)[chunks]) const {
        const char* from = at(tensor, true);
        const bool last = (p.layout.rows - 1 - row) * p.layout.width < per_chunk - 1;
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            const bool can = is_there(c) && (!last || is_before_end(c));
            raw[c] = can ? __ldg(reinterpret_cast<const uint4*>(from) + number(c))
                         : make_uint4(0, 0, 0, 0);
        }
        if (last) {
#pragma unroll
            for (int c = 0; c < chunks; ++c) {
                if (is_there(c) && !is_before_end(c)) {
                    raw[c] = load_head<type>(from + 16 * number(c), in_row - number(c) * per_chunk);
                }
            }
        }
        if (wrapped > 0 && lane == 0) {
            const auto* end = from + at_once * gpu::width_of<type>;
            raw[0] = with_head<type>(load_head<type>(end, wrapped), raw[0], shift);
        }
    }
    /// A row that is the same for all has its chunks elsewhere: two are joined for one of ours. Of
    /// two of ours all four at once.
    __device__ __forceinline__ void load_vector(int tensor, uint4 (&raw)[chunks]) const {
        constexpr int batch = chunks < 2 ? 1 : 2;
        static_assert(chunks % batch == 0);
        const char* from = p.tensors[tensor] + first * gpu::width_of<type>;
        const std::int64_t behind = p.layout.width - first;
        const auto end = static_cast<int>(behind < at_once ? behind : at_once);
#pragma unroll
        for (int c = 0; c < chunks; c += batch) {
            TwoChunks<type> two[batch];
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                const int position = number(c + b) * per_chunk;
                two[b].load(from, position, is_there(c + b) ? end : -1, shift,
                            first + position > 0);
            }
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                const int position = number(c + b) * per_chunk;
                if (is_there(c + b) && position + per_chunk > end) {
                    two[b].load_end(from, position, end);
                }
                if (wrapped > 0 && position == 0) {
                    two[b].load_last(from, end, at_once);
                }
                raw[c + b] = joined<type>(two[b].before, two[b].after, shift);
            }
        }
    }
    __device__ __forceinline__ void take(const uint4 (&raw)[chunks]) {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            gpu::widen<type>(raw[c], x[c]);
        }
    }
    __device__ __forceinline__ void store(int tensor) const {
        char* to = at(tensor, true);
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (access == Access::lone ? is_there(c) : is_inner(c)) {
                gpu::store_chunk<type>(to, number(c), in_row, access != Access::lone, x[c]);
            } else if (access == Access::shifted && is_there(c)) {
                const int position = number(c) * per_chunk;
                const uint4 packed = packed_chunk<type>(x[c]);
                store_elements<type>(to + 16 * number(c), packed, begin - position,
                                     in_row - position);
                if (wrapped > 0 && position == 0) {
                    store_elements<type>(to + at_once * gpu::width_of<type>, packed, 0, wrapped);
                }
            }
        }
    }

    /// Warps whose lanes have nothing of a chunk go past it, where there are many: to ask costs the
    /// others time.
    __device__ __forceinline__ bool goes_over(int chunk) const {
        return !skips_chunks(chunks) || is_there(chunk);
    }
    template <RowOp op>
    __device__ __forceinline__ void each(float statistic = 0) {
        apply_to_all<type, op>(x, statistic, [this](int c) { return goes_over(c); });
    }
    template <RowOp op>
    __device__ __forceinline__ void with_chunks(const uint4 (&operands)[chunks]) {
        apply_chunks<type, op>(x, operands, [this](int c) { return goes_over(c); });
    }
    template <RowOp op>
    __device__ __forceinline__ void with(int tensor) {
        uint4 raw[chunks];
        load(tensor, takes_matrix(op), raw);
        with_chunks<op>(raw);
    }

    /// Of the elements of the row alone: what stands before or behind it does not count. Each chunk
    /// by itself first: sums that do not wait for each other.
    template <RowOp op>
    __device__ __forceinline__ float over_mine(float result) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                const float of_chunk =
                    is_inner(c) ? over_chunk<op, true>(c) : over_chunk<op, false>(c);
                result = Combination<op>()(result, of_chunk);
            }
        }
        return result;
    }
    template <RowOp op, bool inner>
    __device__ __forceinline__ float over_chunk(int c) const {
        float results[2] = {start_of(op), start_of(op)};
#pragma unroll
        for (int e = 0; e < per_chunk; ++e) {
            if (inner || is_of_row(c, e)) {
                results[e % 2] = reduced<op>(results[e % 2], x[c][e]);
            }
        }
        return Combination<op>()(results[0], results[1]);
    }
    __device__ __forceinline__ float reduce(RowOp op, float so_far) const {
        if (op == RowOp::reduce_max) {
            return over_mine<RowOp::reduce_max>(so_far);
        }
        return op == RowOp::reduce_sum ? over_mine<RowOp::reduce_sum>(so_far)
                                       : over_mine<RowOp::reduce_squares>(so_far);
    }

    /// Halves of heads, whose partners lie in other lanes of the warp. Rows of whole heads are
    /// rows of whole chunks.
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
};

}  // namespace raceline::kernels::rows_cuda
