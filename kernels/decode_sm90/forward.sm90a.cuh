// SPDX-License-Identifier: Apache-2.0
// The kernel: a CTA's part of all keys, unit by unit. Its warps take turns at the blocks of a unit,
// or read a head each, with copies under way for the next ones, and meet at the unit's end.
#pragma once

#include "gpu/ptx/griddepcontrol.cuh"
#include "kernels/decode_sm90/last_arriver.cuh"
#include "kernels/decode_sm90/params.hpp"
#include "registry/enqueue_overlapping.cuh"

namespace raceline::kernels::decode_sm90 {

/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
/// eights: rows of a unit, at most, by eight.
template <int index, bool bf16, int eights, class Params = decode_sm90::Params>
__global__ void __launch_bounds__(tiles[index].threads(), tiles[index].residents)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    extern __shared__ __align__(128) char dynamic_shared[];
    // The launch before this one may still run. What follows from the arguments alone need not
    // wait; lengths are read as they stand, and once more afterwards.
    constexpr RuleOf<tile> rule;
    const auto part = static_cast<std::int32_t>(blockIdx.x);
    const bool held = has_held_lengths(p);
    const bool early = held || has_shared_owns(p);
    Lengths lengths{};
    if (!p.uniform) {
        ask_for_pages(p);
    }
    if (held) {
        lengths = read_lengths(p);
    } else if (!p.uniform && !early) {
        ptx::griddepcontrol_wait();
    }
    Task task{};
    Walk walk;
#pragma unroll 1
    for (bool known = !early;; known = true) {
        const Owns owns = owns_of(p, lengths, rule(), dynamic_shared);
        task = task_of(p, rule, owns, part);
        walk.begin(p, rule(), lengths, task.from, task.count);
        if (known) {
            break;
        }
        ptx::griddepcontrol_wait();
        if (held) {
            const Lengths now = read_lengths(p);
            if (__all_sync(0xFFFFFFFFU, now == lengths) != 0) {
                break;
            }
            lengths = now;
        } else if (!has_other_owns(p, rule(), owns, walk.index, walk.sequence)) {
            break;
        }
    }
    if (has_shared_owns(p)) {
        __syncthreads();  // copies come where the plan was read from
    }
    // More CTAs than parts, no query anywhere, or nothing but a pad.
    if (task.count == 0 || walk.empty()) {
        ptx::griddepcontrol_wait();  // who waits for this launch waits for the one before
        return;
    }

    const std::int32_t warp =
        __shfl_sync(0xFFFFFFFFU, static_cast<std::int32_t>(threadIdx.x / 32), 0);
    // The same for all lanes, as the compiler can see: it counts blocks in uniform registers.
    const std::int32_t turn = tile.sharers() > 1 ? warp : 0;
    const auto ring_of_cta = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const auto ring = ring_of_cta + warp * tile.stages * 2 * tile.block_bytes();
    const int scales_at = tile.scales_at() + warp * tile.stages * tile.scale_bytes();
    Loader<tile> loader(p, walk, ring, ring_of_cta + scales_at);
    if (p.uniform) {
        loader.ask_ahead();
    }
    ptx::griddepcontrol_wait();
#pragma unroll 1
    for (int stage = 0; stage + 1 < tile.stages; ++stage) {
        loader.fetch();
    }
    ptx::griddepcontrol_launch_dependents();  // the next call may get ready
    Rows<tile, eights> rows;
    Walk ended{};
    Parts parts = task.parts();
    const bool by_unit = task.of_unit > 0;
    bool pending = false, more = true;
    int stage = 0;
#pragma unroll 1
    while (true) {
        if (more) {  // a unit's Q is on its way while the outputs of the one before meet
            load_query<tile, bf16, eights>(p, walk, rows);
        }
        if (pending) {
            finish<tile, bf16, eights>(
                p, ended, rows, reinterpret_cast<float*>(dynamic_shared + tile.ring_bytes()), part);
            auto* const told = reinterpret_cast<std::int32_t*>(dynamic_shared + tile.told_at());
            if (!ended.whole() && last_to_arrive(p, parts, told)) {
                combine_parts<tile, bf16>(p, ended, parts);
            }
        }
        if (!more) {
            break;
        }
        if (!by_unit) {
            parts = parts_of(task.line, walk, part);
        }
        if (!walk.whole() && threadIdx.x == 0) {
            prepare_arrivals(p, parts);
        }
        clear_sums<tile>(rows);
        const Band& band = walk.sequence.band;
        const std::int32_t plain_from = band.begin(band.length_q - 1);
        // Under a tree, new keys are looked at one by one.
        const std::int32_t plain_to =
            has_tree<Params> ? band.length_k - band.length_q : band.end(0);
#pragma unroll 1
        for (std::int32_t block = walk.block + turn; block < walk.end; block += tile.sharers()) {
            ptx::cp_async_wait_group<tile.stages - 2>();
            if constexpr (tile.heads() > 1) {
                __syncthreads();  // heads in step: a page of DRAM holds those of a key
            } else {
                __syncwarp();
            }
            loader.fetch();
            const bool masked =
                block * tile.keys < plain_from || (block + 1) * tile.keys > plain_to;
            const auto* scales = reinterpret_cast<const float*>(dynamic_shared + scales_at +
                                                                stage * tile.scale_bytes());
            add_block<tile, bf16, eights>(p, rows, ring + stage * 2 * tile.block_bytes(), scales,
                                          block, masked);
            stage = stage + 1 == tile.stages ? 0 : stage + 1;
        }
        ended = walk;
        pending = true;
        more = walk.next(p, rule());
    }
}

/// What the instances of this engine are enqueued by: found by the arguments' namespace, and fits
/// better than what all engines have.
template <class Params>
void enqueue(const char* who, void (*code)(Params), const LaunchShape& shape,
             const Params& params) {
    enqueue_overlapping(who, code, shape, params);
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward < tile, variant % 2 == 1, variant < 2 ? 2 : 1 > ;
}

}  // namespace raceline::kernels::decode_sm90
