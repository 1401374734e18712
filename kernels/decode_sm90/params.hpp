// SPDX-License-Identifier: Apache-2.0
// What the device code of decode_sm90 gets, what of it is compiled, and how a call is cut up. Both
// launches and the workspace query read the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device/device.hpp"
#include "gpu/tile/schedule.hpp"
#include "kernels/decode_sm90/tile.hpp"
#include "model/counts.hpp"
#include "registry/instances.hpp"
#include "workload/attention_args.hpp"
#include "workload/problem.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::decode_sm90 {

/// Blocks that a part has at least, some a warp: shorter ones would cost more to combine.
constexpr std::int32_t least_blocks(const Tile& tile) {
    return 2 * tile.warps;
}

/// The same of sequences of one length: where units are shorter, each may be a part.
constexpr std::int32_t least_blocks(const Tile& tile, std::int32_t blocks_of_unit) {
    return smaller(least_blocks(tile), blocks_of_unit);
}

/// The line of all units' blocks, cut into parts that differ by a block at most: the first `longer`
/// ones have one more than `each`.
struct Cuts {
    std::int32_t parts = 1, each = 0, longer = 0;

    constexpr Cuts() = default;
    constexpr Cuts(std::int32_t blocks, std::int32_t ctas, std::int32_t least)
        : parts(larger(1, smaller(ctas, blocks / least))),
          each(blocks / parts),
          longer(blocks - parts * each) {}
    /// First block of a part.
    [[nodiscard]] constexpr std::int32_t begin(std::int32_t part) const {
        return part * each + smaller(part, longer);
    }
    /// The part that holds a block.
    [[nodiscard]] constexpr std::int32_t part_of(std::int32_t block) const {
        const std::int32_t split = longer * (each + 1);
        return block < split ? block / (each + 1) : longer + (block - split) / each;
    }
};

/// Blocks that any query of a sequence sees. One empty block where none sees a key, so that some
/// CTA writes its rows; none where there are no queries.
constexpr Blocks blocks_of(const Band& band, std::int32_t keys) {
    if (band.length_q <= 0) {
        return {0, 0};
    }
    const Blocks blocks = band.blocks(0, band.length_q, keys);
    return blocks.count() > 0 ? blocks : Blocks{0, 1};
}

/// A unit is a sequence, a KV head and up to `tile_rows` of their rows: its keys are read from
/// first to last. All units' blocks stand in one line, which is cut into equal parts, one a CTA.
/// The cuts follow from lengths that may be known to the device alone.
struct Params {
    AttentionArgs args;
    Band band;                                                      ///< of the longest sequence
    Cuts cuts;                                                      ///< of sequences of one length
    std::int32_t blocks_of_unit;                                    ///< likewise
    schedule::Divider by_blocks, by_units, by_row_tiles, by_group;  ///< by_units: of a sequence
    std::int32_t group, row_tiles;  ///< query heads of a KV head; units of a sequence's head
    std::int32_t ctas;              ///< at most; fewer where parts would be short
    std::int32_t page_shift;        ///< log2 of page_size, or -1 if it is no power of two
    bool uniform;                   ///< all sequences have the longest lengths
    bool plain;                     ///< a block of keys is one run of rows in aligned pieces
    bool by_hand;                   ///< K or V cannot be read in aligned pieces of 16 bytes
    bool paired_q, chunked_out;     ///< Q in words of 4 bytes, outputs by four
    float scale_log2;               ///< softmax scale, or the cap of a softcap, × log2 e
    float cap_inner;                ///< scale / cap, or 0 without a softcap
    float* partial_out;             ///< (ctas, 2, tile_rows, headdim of the tile)
    float* partial_sums;            ///< (ctas, 2, tile_rows, 2): base, sum
    std::uint64_t* arrivals;        ///< (ctas): CTAs that have left their part (last_arriver.cuh)
};

/// The same of a call with a tree: a word a query token (attention_call.hpp).
struct TreeParams : Params {
    const std::uint32_t* tree;
};
template <class Params>
inline constexpr bool has_tree = std::is_same_v<Params, TreeParams>;

/// Compiled: every tile for queries in fp16 and in bf16, the second variant.
struct Instances : InstancesOf<Params, tiles, 2> {
    static constexpr std::string_view engine = "decode_sm90";
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

struct Plan {
    std::int32_t ctas, row_tiles;
    std::size_t workspace_bytes;
};

/// Of a call and the plan of its launch.
Params make_params(const AttentionArgs& args, const Plan& plan, const Tile& tile, void* workspace);

/// Enqueues the combination of parts of sequences that several CTAs have worked on. `tile` is that
/// of the launch before; `stream` is a cudaStream_t.
void launch_combine(const Params& params, const Tile& tile, void* stream);

/// Threads of a CTA of the second launch.
inline constexpr int combine_threads = 512;

/// The workspace's size depends on the device and the tile alone.
inline Plan make_plan(const Problem& problem, const Tile& tile, const Device& device) {
    Plan plan{};
    plan.ctas = static_cast<std::int32_t>(device.units) * tile.residents;
    plan.row_tiles =
        static_cast<std::int32_t>(divide_up(problem.seqlen_q * problem.group(), tile_rows));
    const auto ctas = static_cast<std::size_t>(plan.ctas);
    plan.workspace_bytes = ctas * 2 * tile_rows * (tile.headdim + 2) * sizeof(float) +
                           ctas * sizeof(std::uint64_t) + 16;
    return plan;
}

/// Blocks of all units of a call: what the line that is cut into parts holds.
std::int64_t blocks_of_call(const Workload& workload, const Tile& tile);
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::decode_sm90
