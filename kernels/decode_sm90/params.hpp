// SPDX-License-Identifier: Apache-2.0
// What the device code of decode_sm90 gets, what of it is compiled, and how a call is cut up. The
// launch and the workspace query read the same.
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
#include "workload/attention_call.hpp"
#include "workload/problem.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::decode_sm90 {

/// How the line of all units' blocks is cut into parts, one a CTA. A run of blocks is cut into
/// equal parts: the first `longer` ones have one block more than `each`. The run is the whole line,
/// so that parts go on into the next unit, or each unit by itself.
struct Cuts {
    std::int32_t parts = 1;  ///< of the line
    std::int32_t each = 0, longer = 0;
    std::int32_t of_unit = 0, blocks_of_unit = 0;  ///< parts and blocks of a unit, 0: one run

    constexpr Cuts() = default;
    /// The whole line is one run.
    constexpr Cuts(std::int32_t blocks, std::int32_t ctas, std::int32_t least)
        : parts(larger(1, smaller(ctas, blocks / least))),
          each(blocks / parts),
          longer(blocks - parts * each) {}
    /// Each of `units` units of as many blocks by itself.
    static constexpr Cuts of_units(std::int32_t units, std::int32_t blocks,
                                   std::int32_t parts_of_unit) {
        Cuts cuts(blocks, parts_of_unit, 1);
        cuts.of_unit = cuts.parts;
        cuts.blocks_of_unit = blocks;
        cuts.parts *= units;
        return cuts;
    }
    /// Whether no part goes on into another unit.
    [[nodiscard]] constexpr bool by_units() const { return of_unit > 0; }
    [[nodiscard]] constexpr std::int32_t longest() const { return each + (longer > 0 ? 1 : 0); }
    /// First block of a part.
    [[nodiscard]] constexpr std::int32_t begin(std::int32_t part) const {
        const std::int32_t unit = by_units() ? part / of_unit : 0;
        const std::int32_t of_run = part - unit * of_unit;
        return unit * blocks_of_unit + of_run * each + smaller(of_run, longer);
    }
    /// The part that holds a block.
    [[nodiscard]] constexpr std::int32_t part_of(std::int32_t block) const {
        const std::int32_t unit = by_units() ? block / blocks_of_unit : 0;
        const std::int32_t of_run = block - unit * blocks_of_unit;
        const std::int32_t split = longer * (each + 1);
        return unit * of_unit +
               (of_run < split ? of_run / (each + 1) : longer + (of_run - split) / each);
    }
};

/// Bytes that an SM reads, while all do, in the 3 µs that a part takes longer which ends in one
/// unit and goes on in the next. Calibrated: receipts/h200/logs/2026-11-24-decode_sm90-cuts.log. An
/// end weighs as much in the line of units.
inline constexpr std::int32_t bytes_of_an_end = 128 * 1024;
/// Up to so many blocks a warp a unit stays whole: to combine its parts takes as long (same log).
inline constexpr std::int32_t whole_blocks = 4;

/// What of a tile the cuts follow from.
struct CutRule {
    std::int32_t keys;
    std::int32_t warps;  ///< that take turns at the blocks of a unit
    std::int32_t heads;  ///< KV heads of a unit, side by side: a block is one of each
    /// Blocks that a unit's end weighs as much as. The line has as many in front of each unit,
    /// which nobody reads: a part that begins in them begins with the unit.
    std::int32_t pad;

    constexpr explicit CutRule(const Tile& tile)
        : keys(tile.keys),
          warps(tile.sharers()),
          heads(tile.heads()),
          pad(bytes_of_an_end / (2 * tile.block_bytes() * tile.heads())) {}
    /// Blocks that a part of the line has at least, some a warp: shorter ones would cost more to
    /// combine.
    [[nodiscard]] constexpr std::int32_t least() const { return 2 * warps; }
    /// Parts that a unit of so many blocks has at most, if it is cut by itself.
    [[nodiscard]] constexpr std::int32_t most_parts(std::int32_t blocks) const {
        return blocks <= whole_blocks * warps ? 1 : blocks / warps;
    }
    /// Whether units are better cut by themselves, the longest parts being so long, than as one
    /// line: CTAs that this leaves without work cost the others less than a second end. `even`: all
    /// blocks in equal parts.
    [[nodiscard]] constexpr bool by_units(std::int32_t longest, const Cuts& even) const {
        return longest - even.longest() <= pad;
    }
    /// Parts of a unit among others of different lengths: one for each `share` blocks.
    [[nodiscard]] constexpr std::int32_t parts(std::int32_t blocks, std::int32_t share) const {
        return smaller(most_parts(blocks), larger(1, (blocks + share - 1) / share));
    }
};

/// Blocks of a part where units of different lengths are cut by themselves. Each unit's last part
/// may be shorter, so that there may be more parts than CTAs; the last attempt never has more. Not
/// to be asked where there are more units than CTAs.
inline constexpr int share_attempts = 3;
constexpr std::int32_t share_of(std::int32_t blocks, std::int32_t units, std::int32_t ctas,
                                int attempt) {
    const std::int32_t over = ctas - units * attempt / (share_attempts - 1);
    return over == 0 ? blocks : larger(1, (blocks + over - 1) / over);
}

/// Units of a sequence's KV head: tiles that its rows fill.
constexpr std::int32_t row_tiles_of(std::int32_t tokens, std::int32_t group) {
    return (tokens * group + tile_rows - 1) / tile_rows;
}

/// Sequences of different lengths that are planned with before the launch in front has ended: a CTA
/// keeps what each of them has in shared memory.
inline constexpr std::int32_t most_shared_owns = 1024;

/// Whether no unit has more than eight rows, whose products, softmax and ends take half the time.
constexpr bool has_few_rows(std::int64_t tokens, std::int64_t group) {
    return 2 * tokens * group <= tile_rows;
}

/// Of sequences of one length.
constexpr Cuts cuts_of_equal(std::int32_t units, std::int32_t blocks, std::int32_t ctas,
                             const CutRule& rule) {
    const std::int32_t least = smaller(rule.least(), blocks);
    const std::int32_t parts = smaller(ctas / units, rule.most_parts(blocks));
    if (parts > 0) {
        const Cuts cuts = Cuts::of_units(units, blocks, parts);
        if (rule.by_units(cuts.longest(), Cuts(units * blocks, ctas, least))) {
            return cuts;
        }
    }
    return {units * (rule.pad + blocks), ctas, least};
}

/// Blocks that any query of a sequence sees. One empty block where none sees a key, so that some
/// CTA writes its rows; none where there are no queries.
constexpr Blocks blocks_of(const Band& band, std::int32_t keys) {
    if (band.length_q <= 0) {
        return {0, 0};
    }
    const Blocks blocks = band.blocks(0, band.length_q, keys);
    return blocks.count() > 0 ? blocks : Blocks{0, 1};
}

/// A unit is a sequence, a KV head (or several side by side, as the tile says) and up to
/// `tile_rows` of their rows: its keys are read from first to last. All units' blocks stand in one
/// line, each unit's behind a pad, and the line is cut into parts, one a CTA. The cuts follow from
/// lengths that may be known to the device alone.
struct Params {
    AttentionArgs args;
    Band band;                    ///< of the longest sequence
    Cuts cuts;                    ///< of sequences of one length
    std::int32_t length_of_unit;  ///< likewise: its blocks and, in a line, the pad
    schedule::Divider by_length, by_units, by_row_tiles;  ///< of a unit; of a sequence; of a head
    schedule::Divider by_group;
    std::int32_t group;          ///< query heads of a KV head
    std::int32_t ctas;           ///< at most; fewer where parts would be short
    std::int32_t page_shift;     ///< log2 of page_size, or -1 if it is no power of two
    bool uniform;                ///< all sequences have the longest lengths
    bool plain;                  ///< a block of keys is one run of rows in aligned chunks
    bool by_hand;                ///< K or V cannot be read in aligned chunks of 16 bytes
    bool paired_q, chunked_out;  ///< Q in words of 4 bytes, outputs by four
    float scale_log2;            ///< softmax scale, or the cap of a softcap, × log2 e
    float cap_inner;             ///< scale / cap, or 0 without a softcap
    float* partial_out;   ///< (ctas, 2, heads and headdim of the tile: heads, tile_rows, headdim)
    float* partial_sums;  ///< (ctas, 2, heads, tile_rows, 2): base, sum
    std::uint64_t* arrivals;  ///< (ctas): CTAs that have left their part (last_arriver.cuh)
    ScaleArg k_token_scale, v_token_scale;  ///< null data: none (attention_call.hpp)
    bool scales_in_chunks;  ///< those of four keys of a block stand in an aligned chunk of 16 bytes
};

/// The same of a call with a tree: a word a query token (attention_call.hpp).
struct TreeParams : Params {
    const std::uint32_t* tree;
};
template <class Params>
inline constexpr bool has_tree = std::is_same_v<Params, TreeParams>;

/// Rows of a unit that a warp brings together at a time, a lane a part: `parts_at_once` parts of
/// one row, or all of several rows of a unit that has `few_parts` at most.
constexpr int parts_at_once(const Tile& tile) {
    return tile.headdim > 128 ? 8 : 16;
}
constexpr int rows_of_few_parts(const Tile& tile) {
    return tile.headdim > 128 ? 2 : 4;
}
constexpr int few_parts(const Tile& tile) {
    return parts_at_once(tile) / rows_of_few_parts(tile);
}

/// Compiled: every tile for queries in fp16 and in bf16, and for units of up to eight rows by
/// itself.
struct Instances : InstancesOf<Params, tiles, 4> {
    static constexpr std::string_view engine = "decode_sm90";
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

struct Plan {
    std::int32_t ctas;
    std::size_t workspace_bytes;
};

/// Of a call and the plan of its launch.
Params make_params(const AttentionCall& call, const Plan& plan, const Tile& tile, void* workspace);

/// The workspace's size depends on the device and the tile alone.
inline Plan make_plan(const Tile& tile, const Device& device) {
    Plan plan{};
    plan.ctas = static_cast<std::int32_t>(device.units) * tile.residents;
    const auto ctas = static_cast<std::size_t>(plan.ctas);
    plan.workspace_bytes =
        ctas * 2 * tile.heads() * tile_rows * (tile.headdim + 2) * sizeof(float) +
        ctas * sizeof(std::uint64_t) + 16;
    return plan;
}

/// Blocks of all units of a call, and with their pads: how long the line is.
std::int64_t blocks_of_call(const Workload& workload, const Tile& tile);
std::int64_t length_of_line(const Workload& workload, const Tile& tile);
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::decode_sm90
