// SPDX-License-Identifier: Apache-2.0
// mla_tensor's CTAs, for host and device.
#pragma once

#include <array>

#include "ladder/decode/mla/mla.hpp"

namespace raceline::kernels::mla_tensor {

using mla::latent, mla::part_floats, mla::tile_keys, mla::width;
// Two warpgroups: 32 keys' scores and 256 value columns each.
using mla::threads, mla::warps;

inline constexpr std::array<decode::Tile, 4> tiles{{{1}, {2}, {4}, {0}}};

inline constexpr int most_heads = 64;  ///< of a CTA: the rows of its matrix products

/// Shared memory: Q and two stages of the latent, each in slabs of 64 columns, then what the
/// warpgroups tell each other of every thread: probabilities (eight words) and two maxima or sums.
inline constexpr int slab_bytes = 64 * 128;  ///< 64 rows
inline constexpr int operand_bytes = width / 64 * slab_bytes;
inline constexpr int swizzle_bytes = 1024;  ///< slabs start at multiples
inline constexpr std::int64_t smem_bytes =
    3 * operand_bytes + threads * (8 + 2) * 4 + swizzle_bytes;

/// A block of heads and whole tiles of keys; shared memory allows one CTA a unit.
constexpr decode::Layout layout_of(const decode::Call&) {
    return {.cta_rows = most_heads,
            .smem_bytes = smem_bytes,
            .columns = latent,
            .fewest = tile_keys,
            .multiple = tile_keys,
            .most_ctas = 1,
            .counts_groups = true};
}

}  // namespace raceline::kernels::mla_tensor
