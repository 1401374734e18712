// SPDX-License-Identifier: Apache-2.0
// Any chain whose elements do not know their row, read step by step: a thread takes one chunk of
// the matrix, wherever in a row that lies, and ends. Few registers are needed, so that an SM has
// enough threads to hide what each waits for.
#pragma once

#include "kernels/rows_cuda/row_parts.cuh"

namespace raceline::kernels::rows_cuda {

/// `aligned`: tensors begin at multiples of 16 bytes, and all chunks but the matrix's last are
/// whole.
template <DType type, bool aligned>
struct Chunk {
    static constexpr bool in_rows = false;
    const Params& p;
    std::int64_t first;  ///< element of the matrix
    std::int32_t count;  ///< elements that the chunk has
    float x[1][gpu::chunk_of<type>];

    __device__ __forceinline__ char* at(int tensor) const {
        return p.tensors[tensor] + first * gpu::width_of<type>;
    }
    [[nodiscard]] __device__ __forceinline__ bool is_whole() const {
        return aligned && count == gpu::chunk_of<type>;
    }
    __device__ __forceinline__ void load(int tensor, uint4 (&raw)[1]) const {
        raw[0] = gpu::load_chunk<type>(at(tensor), 0, count, is_whole());
    }
    __device__ __forceinline__ void store(int tensor) const {
        gpu::store_chunk<type>(at(tensor), 0, count, is_whole(), x[0]);
    }
    template <RowOp op>
    __device__ __forceinline__ void each(float statistic = 0) {
        apply_to_all<type, op>(x, statistic);
    }
    template <RowOp op>
    __device__ __forceinline__ void with(int tensor) {
        uint4 raw[1];
        load(tensor, raw);
        apply_chunks<type, op>(x, raw);
    }
};

template <DType type, bool aligned>
__global__ void __launch_bounds__(flat_threads, residents_reading_flat)
    read_flat(const __grid_constant__ Params p) {
    constexpr int per_chunk = gpu::chunk_of<type>;
    const std::int64_t first =
        (static_cast<std::int64_t>(blockIdx.x) * flat_threads + threadIdx.x) * per_chunk;
    const std::int64_t left = p.layout.elements - first;
    if (left <= 0) {
        return;
    }
    Chunk<type, aligned> chunk{
        p, first, static_cast<std::int32_t>(left < per_chunk ? left : per_chunk), {}};
    uint4 raw[1];
    chunk.load(0, raw);
    gpu::widen<type>(raw[0], chunk.x[0]);
#pragma unroll 1
    for (int i = 0; i < p.program.size; ++i) {
        take_step(chunk, p.program.list[static_cast<std::size_t>(i)], 0.0F);
    }
    chunk.store(p.program.result);
}

}  // namespace raceline::kernels::rows_cuda
