// SPDX-License-Identifier: Apache-2.0
// The kernel: roles, and nothing else. Persistent: one CTA an SM walks through its share of the
// items (schedule.hpp).
#pragma once

#include "gpu/ptx/setmaxnreg.cuh"
#include "kernels/prefill_sm90/compute.cuh"
#include "kernels/prefill_sm90/load.cuh"

namespace raceline::kernels::prefill_sm90 {

/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
/// capped: with a softcap.
template <int index, bool bf16, bool capped>
__global__ void __launch_bounds__(tiles[index].threads(), 1)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    constexpr RegisterSplit registers = register_split(tile);
    extern __shared__ char dynamic_shared[];
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const Shared<tile> s{(start + 1023U) & ~1023U};
    // The same in all lanes, and known to be: roles are whole warpgroups.
    const int warpgroup = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 128), 0);
    if (threadIdx.x == 0) {
        init_barriers(s);
    }
    __syncthreads();
    if (warpgroup == 0) {
        ptx::setmaxnreg_dec<registers.producer>();
        produce(p, s);
    } else {
        ptx::setmaxnreg_inc<registers.matrix>();
        consume<tile, bf16, capped>(p, s, warpgroup - 1);
    }
}

}  // namespace raceline::kernels::prefill_sm90
