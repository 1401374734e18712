// SPDX-License-Identifier: Apache-2.0
// The kernel: roles, and nothing else. Persistent: one CTA an SM walks through its share of the
// work tiles (schedule.hpp).
#pragma once

#include "gpu/ptx/setmaxnreg.cuh"
#include "kernels/prefill_sm90/e4m3_alternate.cuh"
#include "kernels/prefill_sm90/e4m3_load.cuh"
#include "kernels/prefill_sm90/e4m3_transpose.cuh"
#include "kernels/prefill_sm90/params.cuh"

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

/// Executed by a matrix warpgroup.
template <Tile tile>
__device__ __forceinline__ void consume(const Params& p, const Shared<tile>& s, int warpgroup) {
    Consumer<tile> consumer(p, s, warpgroup);
    consumer.turn.open();
    float score[tile.keys / 2];
    float out[tile.headdim / 2];
    std::uint32_t probability[tile.keys / 32][4];
    RowState state;
    if constexpr (tile.alternates()) {
        float part[tile.promoted_columns() / 2];
        float narrow[tile.narrow_columns() > 0 ? tile.narrow_columns() / 2 : 1];
        alternate<tile>(consumer, {score, out, part, probability, state}, narrow);
    } else if constexpr (tile.promote != 0) {
        float part[tile.promoted_columns() / 2];
        stream<tile>(consumer, Accumulators<tile>{score, out, part, probability, state});
    } else {
        stream<tile>(consumer, Accumulators<tile>{score, out, out, probability, state});
    }
    consumer.turn.close();
}

/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
template <int index>
__global__ void __launch_bounds__(tiles[index].threads(), 1)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    const Shared<tile> s{start_of_shared()};
    // The same in all lanes, and known to be: roles are whole warps and warpgroups.
    const int warp = __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x / 32), 0);
    open_barriers(s, tile.prepared != 0 ? 1 : transposers, tile.prepared != 0 ? 0 : transposers);
    if (warp < 4) {
        ptx::setmaxnreg_dec<register_split(tile).producer>();
        if constexpr (tile.alternates()) {
            // The compiler then knows that the address is the same in all lanes, which leaves the
            // scheduler the register that it lacks.
            produce(p, Shared<tile>{ptx::uniform(s.base)}, warp);
        } else {
            produce(p, s, warp);
        }
    } else {
        ptx::setmaxnreg_inc<register_split(tile).matrix>();
        consume<tile>(p, s, warp / 4 - 1);
    }
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward<tile>;
}

}  // namespace raceline::kernels::prefill_sm90_fp8
