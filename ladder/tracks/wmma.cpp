// SPDX-License-Identifier: Apache-2.0
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/tracks/wmma.hpp"

#include "ladder/tracks/wmma_tile.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::tracks {
namespace {

// Passes of a warp and tile, besides the staging. A fragment of halves is read in one instruction
// of four passes: Q and K once a product, P, V. Accumulators are eight passes: scores out, factors
// in. The softmax reads sixteen scores a lane and writes as many halves and eight factors.
constexpr double loop_passes(double headdim) {
    constexpr int key_blocks = tile_keys / side;
    const double fragments = 3 * headdim / side * key_blocks + key_blocks;
    return 4 * fragments + 8 * 2 + 8 + 16 + 8 + 8;
}

template <int buffers>
struct OnHost {
    template <int rows, int headdim>
    using Shared = WmmaShared<std::uint16_t, rows, headdim, buffers>;
};
template <int buffers>
std::int64_t bytes_with(int rows, const Workload& w) {
    return smem_bytes_of<OnHost<buffers>::template Shared, 32, 64, 128>(rows, w.headdim);
}

}  // namespace

std::vector<Counts> wmma_counts(const Workload& w, const WmmaWalk& walk) {
    const auto d = static_cast<double>(w.headdim);
    const int threads = gpu::wmma_threads(walk.rows);
    const double warps = threads / 32.0;
    return one_pass_counts(
        w, {.products = "flop.mma.fp16",
            .rows = walk.rows,
            .threads = threads,
            .registers = walk.registers,
            .smem_bytes =
                walk.buffers == 1 ? bytes_with<1>(walk.rows, w) : bytes_with<2>(walk.rows, w),
            .tile = {role("tiles", 1, walk.loop, threads, warps * (walk.staged + loop_passes(d)),
                          {{"flop.mma.fp16", 4.0 * walk.rows * tile_keys * d},
                           {"op.ex2", walk.rows * (tile_keys + 2.0)}})},
            .once = role("setup", 1, walk.rest, threads, warps * (walk.staged_q + d), {})});
}

}  // namespace raceline::kernels::tracks
