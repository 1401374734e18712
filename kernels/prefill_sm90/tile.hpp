// SPDX-License-Identifier: Apache-2.0
// What follows from a tile of either type: registers, shared memory, what a CTA of Hopper holds.
// Shared by host and device.
//
// A tile is a policy of the engine. Besides its fields it says `eight_bits`; in a descriptor its
// `descriptor_slots` and `descriptor_rows`; bytes of 64 rows of Q and of outputs, and of a block of
// K, of V as products take it, and of V as it comes where that is something else.
#pragma once

#include <cstdint>

#include "registry/cuda_limits.hpp"

namespace raceline::kernels::hopper {

/// Columns of 16 bits in one 128-byte row of swizzled shared memory, and bytes of such a row.
inline constexpr int slab_columns = 64;
inline constexpr int slab_row_bytes = 128;

/// Registers of a thread after setmaxnreg. The sums are what the launch bound gave the CTA: 168
/// times 384 threads, 128 times 512, 96 times 640.
struct RegisterSplit {
    int entry, producer, matrix;
};
constexpr RegisterSplit registers_of(int warpgroups) {
    constexpr RegisterSplit of_warpgroups[] = {{168, 40, 232}, {128, 32, 160}, {96, 32, 112}};
    return of_warpgroups[warpgroups - 2];
}
template <class Tile>
constexpr RegisterSplit register_split(const Tile& tile) {
    return registers_of(tile.warpgroups());
}

/// Bytes of a descriptor, a multiple of 16 (descriptor.cuh).
template <class Tile>
constexpr int descriptor_bytes(const Tile& tile) {
    return 16 * (Tile::descriptor_rows + tile.warpgroups());
}

/// Bytes from the start of a CTA's shared memory, which is a multiple of 1024: the stages of Q (64
/// rows each), those of outputs, the stages of K, of V as it comes, of V as products take it, the
/// barriers, the described work tiles.
struct SharedLayout {
    int q_stages;     ///< a matrix warpgroup has one a work tile
    int out_buffers;  ///< every matrix warpgroup's, or 0
    int out, k, raw_v, v, barriers, descriptors, bytes;
};
template <class Tile>
constexpr SharedLayout layout_of(const Tile& tile, int q_stages, int out_buffers) {
    const int out = q_stages * tile.q_stage_bytes();
    const int k = out + out_buffers * tile.out_buffer_bytes();
    const int raw_v = k + tile.stages * tile.k_bytes();
    const int v = raw_v + tile.stages * tile.raw_v_bytes();
    const int barriers = v + tile.stages * tile.v_bytes();
    const int rings = tile.raw_v_bytes() > 0 ? 3 : 2;
    const int clearing = tile.eight_bits ? 0 : 1;
    const int count = 2 * q_stages + 2 * out_buffers + 2 * rings * tile.stages +
                      2 * Tile::descriptor_slots + clearing;
    const int descriptors = barriers + (8 * count + 15) / 16 * 16;
    return {q_stages, out_buffers, out,
            k,        raw_v,       v,
            barriers, descriptors, descriptors + Tile::descriptor_slots * descriptor_bytes(tile)};
}
/// Dynamic shared memory may start at any multiple of 16 and is rounded up to the swizzle's 1024.
inline constexpr int shared_slack = 1024 - 16;
constexpr bool fits(const SharedLayout& layout) {
    return layout.bytes + shared_slack <= most_smem_bytes;
}
/// What a launch asks for.
template <class Tile>
constexpr int shared_bytes(const Tile& tile) {
    return shared_layout(tile).bytes + shared_slack;
}

/// Whether outputs leave through shared memory.
template <class Tile>
constexpr bool stores_boxes(const Tile& tile) {
    return shared_layout(tile).out_buffers > 0;
}

/// Whether a CTA of Hopper can be what the tile says.
template <class Tile>
constexpr bool fits_cta(const Tile& t) {
    const RegisterSplit r = register_split(t);
    return t.rows % 64 == 0 && t.keys <= 256 && t.stages >= 2 &&
           shared_bytes(t) <= most_smem_bytes &&
           128 * (r.producer + t.warpgroups() * r.matrix) <= r.entry * t.threads();
}

}  // namespace raceline::kernels::hopper
