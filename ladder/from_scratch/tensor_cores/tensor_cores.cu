// SPDX-License-Identifier: Apache-2.0
// The kernel and its launch. Of a row, two lanes have every other four columns each.
#include "ladder/from_scratch/tensor_cores/forward.cuh"

namespace raceline::kernels::tensor_cores {
namespace {

template <int index, int headdim>
__global__ void __launch_bounds__(gpu::wmma_threads(tiles[index].rows))
    forward(const __grid_constant__ AttentionArgs a) {
    attend<tiles[index].rows, headdim, gpu::Quads>(a);
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    launch_aligned<tiles, Shared>(
        "tensor_cores", args, tile, stream, [](auto index, auto headdim, auto) {
            return RowsCode{forward<index, headdim>, gpu::wmma_threads(tiles[index].rows)};
        });
}

}  // namespace raceline::kernels::tensor_cores
