// SPDX-License-Identifier: Apache-2.0
// What simt compiles, tiles by widths of V, and what its code gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "kernels/simt/tile.hpp"
#include "registry/instances.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::simt {

/// What the device code gets: the arguments of the call and how it was cut up.
struct Params {
    AttentionArgs args;
    float* partial_out;  ///< (splits, total_rows, partial_width); null: one split, no merge
    float*
        partial_sums;  ///< (splits, total_rows, 2): maximum in units of log2, sum of exponentials
    std::int64_t total_rows;
    std::int32_t partial_width;
    std::int32_t row_tiles, splits, group;
    std::int32_t depth, pitch;  ///< of Q and K in shared memory
    std::int32_t page_shift;    ///< log2 of page_size, or -1 if it is no power of two
    bool shared_kv;
    bool chunked_q, chunked_k, chunked_v;  ///< rows can be read in aligned 16-byte pieces
    bool chunked_out;                      ///< four outputs can be written at once
};

/// The same of a call with a tree: a word a query token (attention_call.hpp).
struct TreeParams : Params {
    const std::uint32_t* tree;
};

struct Instances : InstancesOf<Params, tiles, static_cast<int>(v_widths.size())> {
    static constexpr std::string_view engine = "simt";
    /// `v_width` is one of v_widths.
    static constexpr int variant(int v_width) {
        return static_cast<int>(std::ranges::find(v_widths, v_width) - v_widths.begin());
    }

    template <int tile, int variant>
    static constexpr bool compiled = simt::compiled(simt::tiles[tile], v_widths[variant]);
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::simt
