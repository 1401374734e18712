// SPDX-License-Identifier: Apache-2.0
// Attention of few query tokens over a cache, for Hopper: each warp streams keys through a ring of
// its own and multiplies them by the heads of a group, packed together, with mma.sync.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/decode_sm90/params.hpp"
#include "kernels/decode_sm90/tree_tile.hpp"
#include "registry/kernel.hpp"
#include "registry/why_not.hpp"
#include "schedule/plan.hpp"

namespace raceline::kernels::decode_sm90 {
namespace {

constexpr std::int64_t most_tokens = 16;

std::string why_not_asked(const Workload& w) {
    if (w.dtype != DType::bf16 && w.dtype != DType::fp16) {
        return std::string("it takes Q in bf16 or fp16, not ") + name_of(w.dtype);
    }
    if (w.kv_dtype != w.dtype && w.kv_dtype != DType::e4m3) {
        return std::string("it takes K and V in Q's type or in e4m3, not ") + name_of(w.kv_dtype);
    }
    if (w.mla) {
        return "it takes K and V apart, not one latent cache";
    }
    if (w.seqlen_q > most_tokens) {
        return "it takes up to 16 query tokens a sequence";
    }
    if (w.seqlen_k > schedule::longest_length) {
        return "it counts keys up to 2^29";
    }
    return {};
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    for (const std::string& reason : {why_not_hopper(device), why_not_asked(w)}) {
        if (!reason.empty()) {
            return reason;
        }
    }
    const std::int64_t granule = 16 / static_cast<std::int64_t>(bytes_of(w.kv_dtype));
    if (const std::string reason = why_not_widths(
            w, granule, HeadDim{width_for(w.headdim, w.headdim_v)}, HeadDim{tile.headdim});
        !reason.empty()) {
        return reason;
    }
    if ((w.kv_dtype == DType::e4m3) != (tile.eight_bits != 0)) {
        return tile.eight_bits != 0 ? "this tile reads a cache in e4m3"
                                    : "this tile reads a cache in 16 bits";
    }
    if (w.has_token_scales() != (tile.token_scales != 0)) {
        return tile.token_scales != 0 ? "this tile reads a cache with a scale for each token"
                                      : "this tile reads a cache without scales of tokens";
    }
    if (w.heads_kv % tile.heads() != 0) {
        return "this tile reads " + std::to_string(tile.heads()) + " KV heads side by side, " +
               std::to_string(w.heads_kv) + " are no multiple";
    }
    if (length_of_line(w, tile) > std::numeric_limits<std::int32_t>::max() / 2) {
        return "it counts blocks of keys in 31 bits";
    }
    return {};
}

// Both products' operands and P are rounded to the type of the products: Q's own, or fp16 for a
// cache in e4m3, which fp16 holds exactly.
Precision precision(const Workload& w) {
    const Rounding output = rounding_of(w.dtype);
    const Rounding products = w.kv_dtype == DType::e4m3 ? Rounding::fp16 : output;
    return {products, Rounding::fp32, products, Rounding::fp32_rz, output};
}

/// Of the tile that needs the most among those for such a cache: which of them runs depends on the
/// longest context, and what serves that one serves all shorter ones.
std::size_t workspace(const Workload& /*w*/, const Tile& tile, const Device& device) {
    std::size_t most = 0;
    for (const Tile& other : tiles) {
        const bool same = other.headdim == tile.headdim && other.eight_bits == tile.eight_bits &&
                          other.token_scales == tile.token_scales;
        most = std::max(most, same ? make_plan(other, device).workspace_bytes : 0);
    }
    return most;
}

}  // namespace
}  // namespace raceline::kernels::decode_sm90

namespace raceline::kernels::decode_sm90_tree {
namespace {

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (w.tree == 0) {
        return "it takes calls with a tree of new tokens alone: decode_sm90 takes the others";
    }
    return decode_sm90::supports(w, tile, device);
}

}  // namespace
}  // namespace raceline::kernels::decode_sm90_tree

RACELINE_CALL_KERNEL(
    decode_sm90,
    with_token_scales(record_of("up to 16 query tokens over a cache, for Hopper: bf16, fp16; cache "
                                "also in e4m3, contiguous or in pages",
                                Engine::cuda, tiles, {supports, counts, precision, workspace})))
RACELINE_CALL_KERNEL(decode_sm90_tree,
                     with_token_scales(with_trees(record_of(
                         "decode_sm90 for trees of up to 16 speculated tokens", Engine::cuda, tiles,
                         {supports, decode_sm90::counts, decode_sm90::precision,
                          decode_sm90::workspace}))))
