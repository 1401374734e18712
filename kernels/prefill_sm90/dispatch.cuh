// SPDX-License-Identifier: Apache-2.0
// From a tile known at run time to the kernel compiled for it.
#pragma once

#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "kernels/prefill_sm90/dispatch.hpp"
#include "kernels/prefill_sm90/forward.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::prefill_sm90 {

inline void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("prefill_sm90: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <int index, bool bf16, bool capped>
void launch_tile(const Params& params, int ctas, cudaStream_t stream) {
    const auto kernel = forward<index, bf16, capped>;
    constexpr int smem = shared_bytes(tiles[index]);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem),
          "asking for shared memory");
    kernel<<<static_cast<unsigned>(ctas), tiles[index].threads(), smem, stream>>>(params);
    check(cudaGetLastError(), "the launch");
}

template <int headdim, bool bf16, bool capped>
void launch_headdim(int tile, const Params& params, int ctas, void* stream) {
    const auto launch_if = [&]<int index>(std::integral_constant<int, index>) {
        if constexpr (tiles[index].headdim == headdim && (!capped || caps(tiles[index]))) {
            if (tile == index) {
                launch_tile<index, bf16, capped>(params, ctas, static_cast<cudaStream_t>(stream));
            }
        }
    };
    const auto try_all = [&]<int... index>(std::integer_sequence<int, index...>) {
        (launch_if(std::integral_constant<int, index>()), ...);
    };
    try_all(std::make_integer_sequence<int, static_cast<int>(tiles.size())>());
}

}  // namespace raceline::kernels::prefill_sm90
