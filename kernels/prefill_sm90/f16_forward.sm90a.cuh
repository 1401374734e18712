// SPDX-License-Identifier: Apache-2.0
// The kernel: roles, and nothing else. Persistent: one CTA an SM walks through its share of the
// work tiles (schedule.hpp).
#pragma once

#include "gpu/ptx/setmaxnreg.cuh"
#include "kernels/prefill_sm90/f16_consumer.cuh"
#include "kernels/prefill_sm90/f16_load.cuh"
#include "kernels/prefill_sm90/params.cuh"

namespace raceline::kernels::prefill_sm90 {

/// Executed by a matrix warpgroup.
template <Tile tile, bool bf16, bool capped>
__device__ __forceinline__ void consume(const Params& p, const Shared<tile>& s, int warpgroup) {
    Consumer<tile, bf16, capped> consumer(p, s, warpgroup);
    consumer.turn.open();
    float score[tile.keys / 2];
    float out[tile.headdim_v / 2];
    std::uint32_t probability[tile.keys / 16][4];
    RowState state;
    stream<tile>(consumer, Accumulators<tile>{score, out, probability, state});
    consumer.turn.close();
}

/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
/// capped: with a softcap.
template <int index, bool bf16, bool capped>
__global__ void __launch_bounds__(tiles[index].threads(), 1)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    const Shared<tile> s{start_of_shared()};
    // The same in all lanes, and known to be: roles are whole warpgroups.
    const int warpgroup = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 128), 0);
    open_barriers(s, 1, stores_boxes(tile) ? 3 : 1);  // the copying warp and two that store
    if (warpgroup == 0) {
        ptx::setmaxnreg_dec<register_split(tile).producer>();
        produce(p, s);
    } else {
        ptx::setmaxnreg_inc<register_split(tile).matrix>();
        consume<tile, bf16, capped>(p, s, warpgroup - 1);
    }
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward < tile, variant % 2 == 1, variant / 2 == 1 > ;
}

}  // namespace raceline::kernels::prefill_sm90
