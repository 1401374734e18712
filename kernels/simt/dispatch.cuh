// SPDX-License-Identifier: Apache-2.0
// From a tile known at run time to the kernel compiled for it.
#pragma once

#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "kernels/simt/dispatch.hpp"
#include "kernels/simt/finish.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::simt {

inline void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("simt: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <int index, int v_width>
void launch_tile(const Params& params, std::int64_t ctas, std::int64_t smem_bytes,
                 cudaStream_t stream) {
    if constexpr (compiled(tiles[index], v_width)) {
        const auto kernel = forward<index, v_width>;
        const auto smem = static_cast<int>(smem_bytes);
        constexpr int without_asking = 48 * 1024;  // more is opt-in, CUDA programming guide
        if (smem > without_asking) {
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem),
                  "asking for shared memory");
        }
        kernel<<<static_cast<unsigned>(ctas), tiles[index].threads, smem_bytes, stream>>>(params);
        check(cudaGetLastError(), "the launch");
    } else {
        throw Error(Status::unsupported,
                    "simt: this tile holds too many outputs per thread for V's "
                    "head dim");
    }
}

template <int v_width>
void launch_width(int tile, const Params& params, std::int64_t ctas, std::int64_t smem_bytes,
                  void* stream) {
    const auto try_all = [&]<int... index>(std::integer_sequence<int, index...>) {
        ((tile == index ? launch_tile<index, v_width>(params, ctas, smem_bytes,
                                                      static_cast<cudaStream_t>(stream))
                        : void()),
         ...);
    };
    try_all(std::make_integer_sequence<int, static_cast<int>(tiles.size())>());
}

}  // namespace raceline::kernels::simt
