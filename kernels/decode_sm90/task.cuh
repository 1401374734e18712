// SPDX-License-Identifier: Apache-2.0
// What a CTA does: its part of all units' blocks, worked out from the lengths of the sequences.
#pragma once

#include "gpu/ptx/ld_global.cuh"
#include "gpu/ptx/prefetch_l2.cuh"
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

/// Where the batch is small, a lane a sequence holds what memory says of its lengths: the words of
/// `cu_seqlens_q`, `cu_seqlens_k` and `seqlens_k` at its place, as far as there are any. So a call
/// is planned before the launch in front has ended, which may still write them, and planned again
/// if they are others afterwards.
struct Lengths {
    std::int32_t q = 0, k = 0, used = 0;
    bool operator==(const Lengths&) const = default;
};
/// Sums of lengths have an entry more than the batch has sequences.
__device__ __forceinline__ bool has_held_lengths(const Params& p) {
    return !p.uniform && p.args.batch < 32;
}
/// Past the L1, which would keep what was there before the launch in front had ended.
__device__ __forceinline__ std::int32_t load_past_l1(const std::int32_t* word) {
    return static_cast<std::int32_t>(ptx::ld_global_cg_u32(word));
}
__device__ __forceinline__ std::int32_t length_at(const std::int32_t* lengths, std::int32_t b,
                                                  std::int32_t count) {
    return lengths != nullptr && b < count ? load_past_l1(lengths + b) : 0;
}
__device__ __forceinline__ Lengths read_lengths(const Params& p) {
    const AttentionArgs& a = p.args;
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    return {length_at(a.cu_seqlens_q, lane, a.batch + 1),
            length_at(a.cu_seqlens_k, lane, a.batch + 1), length_at(a.seqlens_k, lane, a.batch)};
}
/// As sequence_of, past the L1. b: of a sequence of the batch. Written out, since another way to
/// read in place_in_batch, which all engines share, changed prefill's machine code.
__device__ __forceinline__ Sequence sequence_past_l1(const Params& p, std::int32_t b) {
    const AttentionArgs& a = p.args;
    Sequence s{p.band, 0, b, 0, b};
    if (a.cu_seqlens_q != nullptr) {
        s.q_token = load_past_l1(a.cu_seqlens_q + b);
        s.q_index = 0;
        s.band.length_q = load_past_l1(a.cu_seqlens_q + b + 1) - s.q_token;
    }
    if (a.cu_seqlens_k != nullptr) {
        s.k_token = load_past_l1(a.cu_seqlens_k + b);
        s.k_index = 0;
        s.band.length_k = load_past_l1(a.cu_seqlens_k + b + 1) - s.k_token;
    }
    if (a.seqlens_k != nullptr) {
        s.band.length_k = load_past_l1(a.seqlens_k + b);
    }
    return s;
}
/// As sequence_of, of lengths that lanes hold. To be asked by a whole warp, for any sequences.
__device__ __forceinline__ Sequence held_sequence(const Params& p, const Lengths& lengths,
                                                  std::int32_t b) {
    const AttentionArgs& a = p.args;
    Sequence s{p.band, 0, b, 0, b};
    if (a.cu_seqlens_q != nullptr) {
        s.q_token = __shfl_sync(0xFFFFFFFFU, lengths.q, b);
        s.q_index = 0;
        s.band.length_q = __shfl_sync(0xFFFFFFFFU, lengths.q, (b + 1) % 32) - s.q_token;
    }
    if (a.cu_seqlens_k != nullptr) {
        s.k_token = __shfl_sync(0xFFFFFFFFU, lengths.k, b);
        s.k_index = 0;
        s.band.length_k = __shfl_sync(0xFFFFFFFFU, lengths.k, (b + 1) % 32) - s.k_token;
    }
    if (a.seqlens_k != nullptr) {
        s.band.length_k = __shfl_sync(0xFFFFFFFFU, lengths.used, b);
    }
    return s;
}
/// For what is planned before the launch in front has ended.
__device__ __forceinline__ Sequence sequence_of(const Params& p, const Lengths& lengths,
                                                std::int32_t b) {
    return p.uniform             ? sequence_of(p, b)
           : has_held_lengths(p) ? held_sequence(p, lengths, b)
                                 : sequence_past_l1(p, b);
}
/// Units of a sequence, and the blocks of each. None behind the batch's last sequence and of one
/// without queries.
struct Own {
    std::int32_t units = 0, blocks = 0;
    bool operator==(const Own&) const = default;
};
__device__ __forceinline__ Own own_of(const Params& p, const Sequence& s, CutRule rule) {
    return {p.args.heads_kv / rule.heads * row_tiles_of(s.band.length_q, p.group),
            blocks_of(s.band, rule.keys).count()};
}
/// What each sequence has, for the passes over the batch that plan a call: that of this lane's
/// sequence where lanes hold the lengths; else of all sequences in shared memory, where they fit
/// there; else nothing, and it is worked out again in each pass.
struct Owns {
    Own held;
    const Own* shared = nullptr;
};
__device__ __forceinline__ bool has_shared_owns(const Params& p) {
    return !p.uniform && !has_held_lengths(p) && p.args.batch <= most_shared_owns;
}
/// To be asked by all threads of the CTA. `room`: shared memory for most_shared_owns; nobody may
/// write there before all have planned.
__device__ __forceinline__ Owns owns_of(const Params& p, const Lengths& lengths, CutRule rule,
                                        void* room) {
    if (has_held_lengths(p)) {
        const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
        const Own own = own_of(p, held_sequence(p, lengths, lane), rule);
        return {lane < p.args.batch ? own : Own{}};
    }
    if (!has_shared_owns(p)) {
        return {};
    }
    auto* const all = static_cast<Own*>(room);
#pragma unroll 1
    for (auto b = static_cast<std::int32_t>(threadIdx.x); b < p.args.batch;
         b += static_cast<std::int32_t>(blockDim.x)) {
        all[b] = own_of(p, sequence_past_l1(p, b), rule);
    }
    __syncthreads();
    return {{}, all};
}
/// Whether memory now says something else than `owns` and of the sequence `b`, where a plan begins,
/// than `sequence`. To be asked by all threads of the CTA, which get the same answer.
__device__ __forceinline__ bool has_other_owns(const Params& p, CutRule rule, const Owns& owns,
                                               std::int32_t b, const Sequence& sequence) {
    const Sequence now = sequence_past_l1(p, smaller(b, p.args.batch - 1));
    bool other = now.q_token != sequence.q_token || now.k_token != sequence.k_token ||
                 now.band.length_q != sequence.band.length_q ||
                 now.band.length_k != sequence.band.length_k;
#pragma unroll 1
    for (auto at = static_cast<std::int32_t>(threadIdx.x); at < p.args.batch;
         at += static_cast<std::int32_t>(blockDim.x)) {
        other |= !(own_of(p, sequence_past_l1(p, at), rule) == owns.shared[at]);
    }
    return __syncthreads_or(other ? 1 : 0) != 0;
}

/// Asks for the page table before the launch in front has ended. What that one still writes of it
/// goes through the L2, too.
__device__ __forceinline__ void ask_for_pages(const Params& p) {
    constexpr std::int64_t of_line = 128 / sizeof(std::int32_t);
    const AttentionArgs& a = p.args;
    const std::int64_t line = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (a.block_table != nullptr && line * of_line < a.batch * a.block_table_stride) {
        ptx::prefetch_global_l2(a.block_table + line * of_line);
    }
}

/// Of a sequence; where lanes hold the lengths b is this lane's.
__device__ __forceinline__ Own own_of(const Params& p, CutRule rule, const Owns& owns,
                                      std::int32_t b) {
    if (has_held_lengths(p)) {
        return owns.held;
    }
    if (b >= p.args.batch) {
        return {};
    }
    return owns.shared != nullptr ? owns.shared[b] : own_of(p, sequence_of(p, b), rule);
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

/// Where something of the line stands: its sequence, which of the sequence's units, and which of
/// the unit's blocks; in the pad before the unit that is below 0.
struct Place {
    std::int32_t sequence, unit, block;
};

/// The parts that hold a unit's keys, `first` to `last`.
struct Parts {
    std::int32_t first, last;
    /// Of a row of the `own`th head of a unit of `heads`.
    [[nodiscard]] __device__ __forceinline__ std::int32_t slot(std::int32_t part, std::int32_t row,
                                                               std::int32_t heads,
                                                               std::int32_t own) const {
        // Of the first part the unit's keys are the last ones, of the others the first ones.
        return ((2 * part + (part == first ? 1 : 0)) * heads + own) * tile_rows + row;
    }
};

/// What a CTA does: so much of the line from a place on, pads counted. Where units are cut by
/// themselves its unit has `of_unit` parts, `first` being the first one; else of_unit is 0.
struct Task {
    Cuts line;
    Place from;
    std::int32_t count, first, of_unit;

    [[nodiscard]] __device__ __forceinline__ Parts parts() const {
        return {first, first + of_unit - 1};
    }
};

/// The sequence in which something is found of which each sequence has `length_of(Own)`: the
/// something's place in it, and what that sequence has; nothing if it lies behind the last one. To
/// be asked by a whole warp, a lane a sequence.
struct Found {
    std::int32_t sequence, offset;
    Own own;
};
template <class LengthOf>
__device__ __forceinline__ Found find(const Params& p, CutRule rule, const Owns& owns,
                                      std::int32_t wanted, const LengthOf& length_of) {
    std::int32_t before = 0;
    for (std::int32_t first = 0; first < p.args.batch; first += 32) {
        const Own own = own_of(p, rule, owns, first + static_cast<std::int32_t>(threadIdx.x % 32));
        const std::int32_t length = length_of(own);
        const std::int32_t end = before + sum_so_far(length);
        const unsigned behind = __ballot_sync(0xFFFFFFFFU, wanted < end);
        if (behind != 0) {
            const int lane = __ffs(static_cast<int>(behind)) - 1;
            return {first + lane,
                    wanted - __shfl_sync(0xFFFFFFFFU, end - length, lane),
                    {__shfl_sync(0xFFFFFFFFU, own.units, lane),
                     __shfl_sync(0xFFFFFFFFU, own.blocks, lane)}};
        }
        before = __shfl_sync(0xFFFFFFFFU, end, 31);
    }
    return {};
}

/// Where something of the line stands, of sequences of different lengths.
__device__ __noinline__ inline Place ragged_place(const Params& p, CutRule rule, Owns owns,
                                                  std::int32_t at) {
    const Found found =
        find(p, rule, owns, at, [=](Own own) { return own.units * (rule.pad + own.blocks); });
    const std::int32_t each = rule.pad + found.own.blocks;
    return {found.sequence, found.offset / each, found.offset % each - rule.pad};
}
/// Likewise; of sequences of one length the host knows the divisions.
__device__ __forceinline__ Place place_of(const Params& p, CutRule rule, const Owns& owns,
                                          std::int32_t at) {
    if (!p.uniform) {
        return ragged_place(p, rule, owns, at);
    }
    const std::int32_t unit = p.by_length.divide(at);
    const std::int32_t sequence = p.by_units.divide(unit);
    const std::int32_t of_sequence =
        p.args.heads_kv / rule.heads * row_tiles_of(p.band.length_q, p.group);
    return {sequence, unit - sequence * of_sequence,
            at - unit * p.length_of_unit - (p.cuts.by_units() ? 0 : rule.pad)};
}

/// What a part of a call with different lengths is: of a sequence the `offset`th part, each of its
/// units having `of_unit`, each unit cut by itself; with 0 of them the line of `length` is cut. No
/// sequence: nothing behind the last part, or no query anywhere. `blocks`: of each of its units, as
/// the cuts count them; lengths that are read again may be others by then.
struct RaggedPart {
    std::int32_t sequence, offset, of_unit, length, blocks;
};
/// The rule of a tile that is known.
template <Tile tile>
struct RuleOf {
    __device__ constexpr CutRule operator()() const { return CutRule(tile); }
};

/// Worked out by each warp for itself; fewer than 2^31 blocks. `get_rule` gives the rule, which is
/// a constant where the tile is. Not inlined: the registers of its loops are the main loop's.
template <class GetRule>
__device__ __noinline__ RaggedPart ragged_part(const Params& p, GetRule get_rule, Owns owns,
                                               std::int32_t part) {
    constexpr unsigned all_lanes = 0xFFFFFFFFU;
    const CutRule rule = get_rule();
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    std::int32_t blocks = 0, units = 0;
    for (std::int32_t b = lane; b < p.args.batch; b += 32) {
        const Own own = own_of(p, rule, owns, b);
        blocks += own.units * own.blocks;
        units += own.units;
    }
    blocks = __reduce_add_sync(all_lanes, blocks);
    units = __reduce_add_sync(all_lanes, units);
    const std::int32_t length = units * rule.pad + blocks;
    if (units == 0 || units > p.ctas) {
        return {units == 0 ? -1 : 0, 0, 0, length, 0};
    }
    std::int32_t share = 0, parts = 0, longest = 0;
#pragma unroll 1
    for (int attempt = 0; attempt < share_attempts; ++attempt) {
        share = share_of(blocks, units, p.ctas, attempt);
        parts = 0;
        for (std::int32_t b = lane; b < p.args.batch; b += 32) {
            const Own own = own_of(p, rule, owns, b);
            const std::int32_t cut = rule.parts(own.blocks, share);
            longest = larger(longest, (own.blocks + cut - 1) / cut);
            parts += own.units * cut;
        }
        parts = __reduce_add_sync(all_lanes, parts);
        if (parts <= p.ctas) {
            break;
        }
        longest = 0;
    }
    longest = __reduce_max_sync(all_lanes, longest);
    if (!rule.by_units(longest, Cuts(blocks, p.ctas, rule.least()))) {
        return {0, 0, 0, length, 0};
    }
    const Found found = find(p, rule, owns, part,
                             [=](Own own) { return own.units * rule.parts(own.blocks, share); });
    return {found.own.units > 0 ? found.sequence : -1, found.offset,
            rule.parts(found.own.blocks, share), length, found.own.blocks};
}

/// Of units that all have as many blocks, `units` of them a sequence.
__device__ __forceinline__ Task equal_task(const Cuts& cuts, CutRule rule, Own own,
                                           std::int32_t part) {
    Task task{cuts, {}, 0, 0, cuts.of_unit};
    if (part < cuts.parts) {
        const std::int32_t begin = cuts.begin(part);
        const std::int32_t pad = cuts.by_units() ? 0 : rule.pad;
        const std::int32_t each = pad + own.blocks;
        const std::int32_t unit = begin / each;
        task.from.sequence = unit / own.units;
        task.from.unit = unit - task.from.sequence * own.units;
        task.from.block = begin - unit * each - pad;
        task.count = cuts.begin(part + 1) - begin;
        task.first = task.of_unit > 0 ? part - part % task.of_unit : 0;
    }
    return task;
}

/// Of sequences whose lengths the device alone knows. Equal ones of a small batch are cut as the
/// host cuts them.
template <class GetRule>
__device__ __forceinline__ Task ragged_task(const Params& p, GetRule get_rule, const Owns& owns,
                                            std::int32_t part) {
    const CutRule rule = get_rule();
    if (has_held_lengths(p)) {
        const Own first{__shfl_sync(0xFFFFFFFFU, owns.held.units, 0),
                        __shfl_sync(0xFFFFFFFFU, owns.held.blocks, 0)};
        const bool behind = static_cast<std::int32_t>(threadIdx.x % 32) >= p.args.batch;
        if (__all_sync(0xFFFFFFFFU, behind || owns.held == first) != 0 && first.units > 0) {
            return equal_task(cuts_of_equal(p.args.batch * first.units, first.blocks, p.ctas, rule),
                              rule, first, part);
        }
    }
    const RaggedPart found = ragged_part(p, get_rule, owns, part);
    Task task{Cuts(found.length, p.ctas, rule.least()), {}, 0, 0, found.of_unit};
    if (found.sequence < 0) {
        return task;
    }
    if (found.of_unit > 0) {
        task.from = {found.sequence, found.offset / found.of_unit, 0};
        const std::int32_t of_run = found.offset - task.from.unit * found.of_unit;
        const Cuts cuts(found.blocks, found.of_unit, 1);
        task.first = part - of_run;
        task.from.block = cuts.begin(of_run);
        task.count = cuts.begin(of_run + 1) - task.from.block;
    } else if (part < task.line.parts) {
        const std::int32_t begin = task.line.begin(part);
        task.from = ragged_place(p, rule, owns, begin);
        task.count = task.line.begin(part + 1) - begin;
    }
    return task;
}

/// What a part is; nothing behind the last one. Of sequences of one length the host knows the cuts.
template <class GetRule>
__device__ __forceinline__ Task task_of(const Params& p, GetRule get_rule, const Owns& owns,
                                        std::int32_t part) {
    if (!p.uniform) {
        return ragged_task(p, get_rule, owns, part);
    }
    Task task{p.cuts, {}, 0, 0, p.cuts.of_unit};
    if (part < p.cuts.parts) {
        const std::int32_t begin = p.cuts.begin(part);
        task.from = place_of(p, get_rule(), {}, begin);
        task.count = p.cuts.begin(part + 1) - begin;
        task.first = task.of_unit > 0 ? part - part % task.of_unit : 0;
    }
    return task;
}

}  // namespace raceline::kernels::decode_sm90
