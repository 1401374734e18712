// SPDX-License-Identifier: Apache-2.0
// The kernel: roles, and nothing else. Persistent: one CTA an SM walks through its share of the
// items (schedule.hpp).
#pragma once

#include "gpu/ptx/setmaxnreg.cuh"
#include "kernels/prefill_sm90_fp8/compute.cuh"
#include "kernels/prefill_sm90_fp8/load.cuh"
#include "kernels/prefill_sm90_fp8/transpose.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Executed by the producer's warpgroup: the first warp copies, the others transpose V, if that is
/// not done.
template <Tile tile>
__device__ __forceinline__ void produce(const Params& p, const Shared<tile>& s, int warp) {
    if (warp > 0) {
        if constexpr (tile.prepared == 0) {
            Transposer<tile>{p, s, warp - 1, {}, {}}.transpose_all();
        }
    } else {
        if (threadIdx.x == 0 && p.args.seqlen_k > 0) {  // else there are no maps
            ptx::prefetch_tensormap(&p.q);
            ptx::prefetch_tensormap(&p.k);
            if constexpr (tile.prepared == 0) {
                ptx::prefetch_tensormap(&p.v);
            }
        }
        Loader<tile>(p, s).load_all();
    }
}

/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
template <int index>
__global__ void __launch_bounds__(tiles[index].threads(), 1)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    constexpr RegisterSplit registers = register_split(tile);
    extern __shared__ char dynamic_shared[];
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const Shared<tile> s{(start + 1023U) & ~1023U};
    // The same in all lanes, and known to be: roles are whole warps and warpgroups.
    const int warp = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 32), 0);
    if (threadIdx.x == 0) {
        init_barriers(s);
    }
    __syncthreads();
    if (warp < 4) {
        ptx::setmaxnreg_dec<registers.producer>();
        if constexpr (tile.alternates()) {
            // The compiler then knows that the address is the same in all lanes, which leaves the
            // scheduler the register that it lacks.
            produce(p, Shared<tile>{ptx::uniform(s.base)}, warp);
        } else {
            produce(p, s, warp);
        }
    } else {
        ptx::setmaxnreg_inc<registers.matrix>();
        consume<tile>(p, s, warp / 4 - 1);
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8
