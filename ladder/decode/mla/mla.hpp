// SPDX-License-Identifier: Apache-2.0
// mla's CTAs, for host and device, and what mla_tensor changes.
// Provenance of the numbers below: code.
#pragma once

#include <array>
#include <string>

#include "ladder/decode/counts.hpp"
#include "ladder/decode/plan.hpp"

namespace raceline::kernels::mla {

inline constexpr std::array<decode::Tile, 5> tiles{{{1}, {2}, {4}, {8}, {0}}};

inline constexpr int latent = 512;  ///< columns that are K's and V's
inline constexpr int rope = 64;     ///< columns that are K's alone
inline constexpr int width = latent + rope;

inline constexpr int warps = 8;
inline constexpr int threads = 32 * warps;
inline constexpr int tile_keys = 64;
inline constexpr std::int64_t stage_bytes = std::int64_t{2} * tile_keys * width;

/// Floats that one CTA leaves of a row.
inline constexpr int part_floats = decode::part_floats(latent);

inline constexpr int most_rows = 4;  ///< 18 floats of Q and 16 of the output of each in a lane
inline constexpr int most_heads = most_rows * warps;  ///< of a CTA
/// How the query heads of a CTA lie in it.
constexpr decode::Packing packing_of(std::int64_t heads) {
    return decode::packing_of(heads, most_rows, warps);
}

/// A block of heads; registers allow one CTA a unit.
constexpr decode::Layout layout_of(const decode::Call&) {
    return {.cta_rows = most_heads,
            .smem_bytes = stage_bytes,
            .columns = latent,
            .fewest = warps,
            .most_ctas = 1,
            .counts_groups = true};
}

/// Other types, widths, lengths and scores.
std::string other_calls(const Workload& w);

decode::Form form_of(const Workload& w);

}  // namespace raceline::kernels::mla
