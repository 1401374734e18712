// SPDX-License-Identifier: Apache-2.0
// Which keys a CTA reads: its part of the line of all units' blocks, unit by unit.
#pragma once

#include "gpu/tile/sequence.cuh"
#include "kernels/decode_sm90/params.hpp"

namespace raceline::kernels::decode_sm90 {

using schedule::Sequence;  // in pages K and V have neither first token nor place

__device__ __forceinline__ Sequence sequence_of(const Params& p, std::int32_t b) {
    Sequence s{p.band, 0, b, 0, b};
    if (p.uniform) {
        return s;
    }
    schedule::place_in_batch(s, p.args, b);
    return s;
}

/// Blocks of a unit of a sequence; 0 behind the batch's last.
__device__ __forceinline__ std::int32_t blocks_of_unit(const Params& p, std::int32_t keys,
                                                       std::int32_t b) {
    return b < p.args.batch ? blocks_of(sequence_of(p, b).band, keys).count() : 0;
}
/// Units of each sequence.
__device__ __forceinline__ std::int32_t units_of_sequence(const Params& p) {
    return p.args.heads_kv * p.row_tiles;
}

/// Sum over the lanes before this one and itself.
__device__ __forceinline__ std::int32_t sum_so_far(std::int32_t x) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const std::int32_t below = __shfl_up_sync(0xFFFFFFFFU, x, distance);
        x += lane >= distance ? below : 0;
    }
    return x;
}

/// Where a block of the line stands: its sequence, which of the sequence's units, and which of the
/// unit's blocks.
struct Place {
    std::int32_t sequence, unit, block;
};

/// The parts that hold a unit's keys, `first` to `last`.
struct Parts {
    std::int32_t first, last;
    [[nodiscard]] __device__ __forceinline__ std::int32_t slot(std::int32_t part,
                                                               std::int32_t row) const {
        // Of the first part the unit's keys are the last ones, of the others the first ones.
        return (2 * part + (part == first ? 1 : 0)) * tile_rows + row;
    }
};

/// What a CTA does: so many blocks of the line from a place on. Where units are cut by themselves
/// its unit has `of_unit` parts, `first` being the first one; else of_unit is 0.
struct Task {
    Cuts line;
    Place from;
    std::int32_t count, first, of_unit;

    [[nodiscard]] __device__ __forceinline__ Parts parts() const {
        return {first, first + of_unit - 1};
    }
};

/// The sequence in which something is found that each sequence has `own` of: the something's place
/// in it, and what that sequence has; nothing if it lies behind the last one. `own_of` is asked by
/// a whole warp, a lane a sequence.
struct Found {
    std::int32_t sequence, offset, own;
};
template <class OwnOf>
__device__ __forceinline__ Found find(std::int32_t wanted, std::int32_t sequences,
                                      const OwnOf& own_of) {
    std::int32_t before = 0;
    for (std::int32_t first = 0; first < sequences; first += 32) {
        const std::int32_t own = own_of(first + static_cast<std::int32_t>(threadIdx.x % 32));
        const std::int32_t end = before + sum_so_far(own);
        const unsigned behind = __ballot_sync(0xFFFFFFFFU, wanted < end);
        if (behind != 0) {
            const int lane = __ffs(static_cast<int>(behind)) - 1;
            return {first + lane, wanted - __shfl_sync(0xFFFFFFFFU, end - own, lane),
                    __shfl_sync(0xFFFFFFFFU, own, lane)};
        }
        before = __shfl_sync(0xFFFFFFFFU, end, 31);
    }
    return {};
}

/// Where a block of the line stands, of sequences of different lengths.
__device__ __noinline__ inline Place ragged_place(const Params& p, std::int32_t keys,
                                                  std::int32_t block) {
    const std::int32_t of_sequence = units_of_sequence(p);
    const Found found = find(block, p.args.batch, [&](std::int32_t b) {
        return blocks_of_unit(p, keys, b) * of_sequence;
    });
    const std::int32_t each = found.own / of_sequence;
    return {found.sequence, found.offset / each, found.offset % each};
}
/// Likewise; of sequences of one length the host knows the divisions.
__device__ __forceinline__ Place place_of(const Params& p, std::int32_t keys, std::int32_t block) {
    if (!p.uniform) {
        return ragged_place(p, keys, block);
    }
    const std::int32_t unit = p.by_blocks.divide(block);
    const std::int32_t sequence = p.by_units.divide(unit);
    return {sequence, unit - sequence * units_of_sequence(p), block - unit * p.blocks_of_unit};
}

/// How sequences of different lengths are cut: so many blocks in all, and the share of a cut of
/// each unit by itself, or 0 for a cut of the line. Worked out by each warp for itself; fewer than
/// 2^31 blocks. Not inlined, like what else has few results: the registers of its loops are the
/// main loop's.
struct RaggedCut {
    std::int32_t blocks, share;
};
__device__ __noinline__ inline RaggedCut ragged_cut(const Params& p, CutRule rule) {
    const std::int32_t of_sequence = units_of_sequence(p);
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    std::int32_t blocks = 0, units = 0;
    for (std::int32_t b = lane; b < p.args.batch; b += 32) {
        const std::int32_t own = blocks_of_unit(p, rule.keys, b);
        blocks += own * of_sequence;
        units += own > 0 ? of_sequence : 0;
    }
    blocks = __shfl_sync(0xFFFFFFFFU, sum_so_far(blocks), 31);
    units = __shfl_sync(0xFFFFFFFFU, sum_so_far(units), 31);
    if (blocks == 0 || units > p.ctas) {
        return {blocks, 0};
    }
    const std::int32_t share = share_of(blocks, units, p.ctas);
    std::int32_t longest = 0;
    for (std::int32_t b = lane; b < p.args.batch; b += 32) {
        const std::int32_t own = blocks_of_unit(p, rule.keys, b);
        const std::int32_t cut = rule.parts(own, share);
        longest = larger(longest, (own + cut - 1) / cut);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        longest = larger(longest, __shfl_xor_sync(0xFFFFFFFFU, longest, distance));
    }
    return {blocks, rule.by_units(longest, Cuts(blocks, p.ctas, rule.least())) ? share : 0};
}
/// In which sequence a part is, where each unit is cut by itself: no sequence behind the last part.
__device__ __noinline__ inline Found ragged_part(const Params& p, CutRule rule, std::int32_t share,
                                                 std::int32_t part) {
    const std::int32_t of_sequence = units_of_sequence(p);
    return find(part, p.args.batch, [&](std::int32_t b) {
        const std::int32_t own = blocks_of_unit(p, rule.keys, b);
        return own > 0 ? rule.parts(own, share) * of_sequence : 0;
    });
}

/// Of sequences of different lengths.
__device__ __forceinline__ Task ragged_task(const Params& p, const CutRule& rule,
                                            std::int32_t part) {
    const RaggedCut cut = ragged_cut(p, rule);
    Task task{Cuts(cut.blocks, p.ctas, rule.least()), {}, 0, 0, 0};
    if (cut.blocks == 0) {
        return task;  // no query anywhere
    }
    if (cut.share > 0) {
        const Found found = ragged_part(p, rule, cut.share, part);
        if (found.own > 0) {
            task.of_unit = found.own / units_of_sequence(p);
            task.from = {found.sequence, found.offset / task.of_unit, 0};
            const std::int32_t of_run = found.offset - task.from.unit * task.of_unit;
            const Cuts cuts(blocks_of_unit(p, rule.keys, found.sequence), task.of_unit, 1);
            task.first = part - of_run;
            task.from.block = cuts.begin(of_run);
            task.count = cuts.begin(of_run + 1) - task.from.block;
        }
    } else if (part < task.line.parts) {
        const std::int32_t begin = task.line.begin(part);
        task.from = ragged_place(p, rule.keys, begin);
        task.count = task.line.begin(part + 1) - begin;
    }
    return task;
}

/// What a part is; nothing behind the last one. Of sequences of one length the host knows the cuts.
__device__ __forceinline__ Task task_of(const Params& p, const CutRule& rule, std::int32_t part) {
    if (!p.uniform) {
        return ragged_task(p, rule, part);
    }
    Task task{p.cuts, {}, 0, 0, p.cuts.of_unit};
    if (part < p.cuts.parts) {
        const std::int32_t block = p.cuts.begin(part);
        task.from = place_of(p, rule.keys, block);
        task.count = p.cuts.begin(part + 1) - block;
        task.first = task.of_unit > 0 ? part - part % task.of_unit : 0;
    }
    return task;
}

/// A CTA's way through its part: [block, end) of the unit at hand, then `left` blocks of the next
/// ones. The same in all lanes.
struct Walk {
    Sequence sequence;
    Blocks unit;
    std::int32_t index, head, row_tile;  ///< of the sequence in the batch; KV head
    std::int32_t block, end;
    std::int32_t left;

    /// From a place of the line on, for `count` blocks.
    __device__ __forceinline__ void begin(const Params& p, std::int32_t keys, Place from,
                                          std::int32_t count) {
        index = from.sequence;
        sequence = sequence_of(p, index);
        unit = blocks_of(sequence.band, keys);
        head = p.by_row_tiles.divide(from.unit);
        row_tile = from.unit - head * p.row_tiles;
        block = unit.first + from.block;
        left = count;
        take();
    }
    /// To the next unit; false if the part ends here.
    __device__ __forceinline__ bool next(const Params& p, std::int32_t keys) {
        if (left == 0) {
            return false;
        }
        if (++row_tile == p.row_tiles) {
            row_tile = 0;
            if (++head == p.args.heads_kv) {
                head = 0;
                do {
                    sequence = sequence_of(p, ++index);
                    unit = blocks_of(sequence.band, keys);
                } while (unit.count() == 0);
            }
        }
        block = unit.first;
        take();
        return true;
    }
    [[nodiscard]] __device__ __forceinline__ bool whole() const {
        return block == unit.first && end == unit.last;
    }

private:
    __device__ __forceinline__ void take() {
        end = smaller(unit.last, block + left);
        left -= end - block;
    }
};

}  // namespace raceline::kernels::decode_sm90
