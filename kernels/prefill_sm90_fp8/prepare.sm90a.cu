// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "kernels/prefill_sm90_fp8/dispatch.cuh"
#include "kernels/prefill_sm90_fp8/prepare.cuh"
#include "kernels/prefill_sm90_fp8/prepare.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

template <int headdim, int keys>
void launch_blocks(const Params& params, std::int64_t images, cudaStream_t stream) {
    const auto kernel = transpose_values<headdim, keys>;
    constexpr int smem = preparing_shared_bytes(tile_of_blocks<headdim, keys>);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem),
          "asking for shared memory to transpose V");
    kernel<<<static_cast<unsigned>(images), preparing_threads, smem, stream>>>(params);
    check(cudaGetLastError(), "the launch that transposes V");
}

/// No earlier tile has blocks like it.
constexpr bool first_of_its_blocks(std::size_t index) {
    for (std::size_t i = 0; i < index; ++i) {
        if (tiles[i].prepared != 0 && tiles[i].headdim == tiles[index].headdim &&
            tiles[i].keys == tiles[index].keys) {
            return false;
        }
    }
    return tiles[index].prepared != 0;
}

}  // namespace

void launch_preparation(const Tile& tile, const Params& params, std::int64_t images, void* stream) {
    const auto launch_if = [&]<std::size_t index>(std::integral_constant<std::size_t, index>) {
        if constexpr (first_of_its_blocks(index)) {
            constexpr Tile blocks = tiles[index];
            if (tile.headdim == blocks.headdim && tile.keys == blocks.keys) {
                launch_blocks<blocks.headdim, blocks.keys>(params, images,
                                                           static_cast<cudaStream_t>(stream));
            }
        }
    };
    const auto try_all = [&]<std::size_t... index>(std::index_sequence<index...>) {
        (launch_if(std::integral_constant<std::size_t, index>()), ...);
    };
    try_all(std::make_index_sequence<tiles.size()>());
}

}  // namespace raceline::kernels::prefill_sm90_fp8
