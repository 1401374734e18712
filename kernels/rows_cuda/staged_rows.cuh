// SPDX-License-Identifier: Apache-2.0
// Any chain on rows so narrow that a thread holds one: its lanes would have little of a row each. A
// warp's rows lie side by side in memory and begin at a multiple of 16 bytes together, so that they
// come to shared memory and go back as whole chunks, wherever each of them begins. No thread needs
// another's elements, and each warp goes its own way.
#pragma once

#include "gpu/ptx/cp_async.cuh"
#include "kernels/rows_cuda/step_rows.cuh"

namespace raceline::kernels::rows_cuda {

struct StagedParams : StepParams {
    std::int32_t place[OperationArgs::most];  ///< of a matrix that is read: number among these
    std::int32_t places;
};

/// The row of a thread: its elements are positions from 0 on.
template <DType type, int chunks>
struct StagedRow : Segment<type, 1, chunks, Access::shifted> {
    using Row = Segment<type, 1, chunks, Access::shifted>;
    static constexpr int per_chunk = Row::per_chunk;
    const StagedParams& staged;
    char* mine;          ///< the warp's part of shared memory: its rows of each matrix
    int bytes;           ///< of its rows of one
    int its_lane;        ///< the thread's, and row's, among those of the warp
    std::int64_t apart;  ///< bytes of a matrix before its rows

    [[nodiscard]] __device__ __forceinline__ char* place_of(int tensor) const {
        return mine + staged.place[tensor] *
                          staged_bytes_of_warp(this->p.layout.width, gpu::width_of<type>);
    }
    [[nodiscard]] __device__ __forceinline__ int width() const {
        return static_cast<int>(this->p.layout.width);
    }
    /// Whether rows are whole words of 32 bits.
    [[nodiscard]] __device__ __forceinline__ bool has_words() const {
        return type == DType::fp32 || width() % 2 == 0;
    }
    /// Whether rows have a part of a chunk, or all of it.
    [[nodiscard]] __device__ __forceinline__ bool holds(int chunk) const {
        return chunk * per_chunk < width();
    }
    [[nodiscard]] __device__ __forceinline__ bool holds_all(int chunk) const {
        return (chunk + 1) * per_chunk <= width();
    }
    /// The thread's row of a matrix by words, which it may begin in the middle of. What stands
    /// behind it in its last chunk is a neighbour's.
    __device__ __forceinline__ void load_row(int tensor, uint4 (&raw)[chunks]) const {
        const int byte = its_lane * width() * gpu::width_of<type>;
        const auto* from = reinterpret_cast<const std::uint32_t*>(place_of(tensor) + (byte & ~3));
        if (has_words()) {
#pragma unroll
            for (int c = 0; c < chunks; ++c) {
                if (holds(c)) {
                    const std::uint32_t* words = from + 4 * c;
                    raw[c] = make_uint4(words[0], words[1], words[2], words[3]);
                }
            }
            return;
        }
        const int bits = 8 * (byte & 2);
        const auto later = [bits](std::uint32_t low, std::uint32_t high) {
            return static_cast<std::uint32_t>((static_cast<std::uint64_t>(high) << 32 | low) >>
                                              bits);
        };
        std::uint32_t last = from[0];
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (holds(c)) {
                const std::uint32_t* words = from + 4 * c;
                const std::uint32_t next = words[4];
                raw[c] = make_uint4(later(last, words[1]), later(words[1], words[2]),
                                    later(words[2], words[3]), later(words[3], next));
                last = next;
            }
        }
    }
    /// What is the same for all rows ends with them.
    __device__ __forceinline__ void load_vector(int tensor, uint4 (&raw)[chunks]) const {
        const char* from = this->p.tensors[tensor];
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (holds_all(c)) {
                raw[c] = __ldg(reinterpret_cast<const uint4*>(from) + c);
            } else if (holds(c)) {
                raw[c] = load_head<type>(from + 16 * c, width() - c * per_chunk);
            }
        }
    }
    __device__ __forceinline__ void load(int tensor, bool by_row, uint4 (&raw)[chunks]) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = make_uint4(0, 0, 0, 0);
        }
        by_row ? load_row(tensor, raw) : load_vector(tensor, raw);
    }
    template <RowOp op>
    __device__ __forceinline__ void with(int tensor) {
        uint4 raw[chunks];
        load(tensor, takes_matrix(op), raw);
        this->template with_chunks<op>(raw);
    }
    __device__ __forceinline__ void rope(int /*tensor*/) const {}  // its tile serves no such chain

    __device__ __forceinline__ void copy_here(int tensor) const {
        const char* from = this->p.tensors[tensor] + apart;
        const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(place_of(tensor)));
#pragma unroll 1
        for (int at = 16 * its_lane; at < bytes; at += 16 * 32) {
            ptx::cp_async_cg_16(to + static_cast<std::uint32_t>(at), from + at,
                                min(16, bytes - at));
        }
    }
    /// Into the place of tensor 0, whose elements all lanes have taken, and from there to memory.
    __device__ __forceinline__ void store(int tensor) const {
        constexpr int element_bytes = gpu::width_of<type>;
        __syncwarp();
        char* row = mine + its_lane * width() * element_bytes;
        const bool by_words = has_words();
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (holds(c)) {
                const uint4 packed = packed_chunk<type>(this->x[c]);
                const int count = holds_all(c) ? per_chunk : width() - c * per_chunk;
                by_words ? store_words(row + 16 * c, packed, count)
                         : store_halves(row + 16 * c, packed, count);
            }
        }
        __syncwarp();
        char* to = this->p.tensors[tensor] + apart;
        const int whole = bytes & ~15;
#pragma unroll 1
        for (int at = 16 * its_lane; at < whole; at += 16 * 32) {
            *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(mine + at);
        }
        if (whole < bytes && its_lane == 0) {  // behind the matrix's last whole chunk
            store_elements<type>(to + whole, *reinterpret_cast<const uint4*>(mine + whole), 0,
                                 (bytes - whole) / element_bytes);
        }
    }
    /// The first `count` elements of a chunk: most are whole.
    __device__ __forceinline__ static void store_words(char* to, uint4 chunk, int count) {
        constexpr int of_word = 4 / gpu::width_of<type>;
        const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
        auto* at = reinterpret_cast<std::uint32_t*>(to);
        if (count == per_chunk) {
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                at[w] = words[w];
            }
            return;
        }
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            if (w * of_word < count) {
                at[w] = words[w];
            }
        }
    }
    __device__ __forceinline__ static void store_halves(char* to, uint4 chunk, int count) {
        if (count == per_chunk) {
            store_elements<type>(to, chunk, 0, per_chunk);
        } else {
            store_elements<type>(to, chunk, 0, count);
        }
    }
};

template <DType type, int index>
__global__ void __launch_bounds__(tile_list[index].threads, residents_staged(tile_list[index]))
    staged_rows(const __grid_constant__ StagedParams p) {
    extern __shared__ uint4 dynamic_shared[];
    constexpr Tile tile = tile_list[index];
    constexpr int warps = tile.threads / 32;
    using Row = SteppedRow<StagedRow<type, tile.chunks>>;
    const auto warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * warps + warp) * 32;
    const std::int64_t left = p.layout.rows - first;
    if (left <= 0) {
        return;
    }
    const int rows = left < 32 ? static_cast<int>(left) : 32;
    const auto width = static_cast<int>(p.layout.width);
    constexpr int element_bytes = gpu::width_of<type>;
    char* mine = reinterpret_cast<char*>(dynamic_shared) +
                 warp * staged_bytes(p.layout.width, element_bytes, p.places);
    Row its{{{p, 0, first + lane, 0, 0, 0, lane < rows ? width : 0, 0, {}},
             p,
             mine,
             rows * width * element_bytes,
             lane,
             first * width * element_bytes},
            p,
            nullptr,
            0};
    its.copy_here(0);
#pragma unroll 1
    for (int tensor = 1; p.matrices >> tensor != 0; ++tensor) {
        if ((p.matrices >> tensor & 1) != 0) {
            its.copy_here(tensor);
        }
    }
    ptx::cp_async_commit_group();
    ptx::cp_async_wait_group<0>();
    __syncwarp();
    uint4 raw[tile.chunks];
    its.load(0, true, raw);
    its.take(raw);
#pragma unroll 1
    for (int i = 0; i < p.phrases.size; ++i) {
        its.take_phrase(p.phrases.list[static_cast<std::size_t>(i)]);
    }
    its.store(p.result);
}

}  // namespace raceline::kernels::rows_cuda
