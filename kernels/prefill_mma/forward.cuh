// SPDX-License-Identifier: Apache-2.0
// The kernel: one CTA a work tile (schedule.hpp).
#pragma once

#include "kernels/prefill_mma/finish.cuh"
#include "kernels/prefill_mma/instances.hpp"

namespace raceline::kernels::prefill_mma {

/// by_hand: a row of Q, K, V or the output is no row of aligned 16-byte chunks, which cp.async
/// and wide stores need.
/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
template <int index, bool bf16, bool by_hand>
__global__ void __launch_bounds__(tiles[index].threads(), tiles[index].residents)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    extern __shared__ char dynamic_shared[];
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const Shared<tile> s{(start + 127U) & ~127U};
    __shared__ Work w;
    static_assert(sizeof(w) == work_bytes);
    if (threadIdx.x == 0) {
        w = work_of<tile>(p, p.order.work_tile(static_cast<std::int32_t>(blockIdx.x)));
    }
    __syncthreads();
    if (w.empty) {
        return;  // the whole CTA leaves together
    }
    Outputs<tile> out{};
    RowState<tile> state;
    if (w.blocks.count() > 0) {
        attend<tile, bf16, by_hand>(p, w, s, out, state);
    }
    write_rows<tile, bf16, by_hand>(p, w, s, out, state);
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward < tile, variant % 2 == 1, variant / 2 == 1 > ;
}

}  // namespace raceline::kernels::prefill_mma
