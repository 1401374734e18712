// SPDX-License-Identifier: Apache-2.0
// Blocks of K and V from global memory to a warp's ring of stages. Copies run ahead of the
// products through the ends of units, so that memory is never left idle.
#pragma once

#include "gpu/ptx/cp_async.cuh"
#include "gpu/ptx/prefetch_l2.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "kernels/decode_sm90/walk.cuh"

namespace raceline::kernels::decode_sm90 {

/// Byte of a 16-byte chunk of a key in shared memory: chunks are exchanged by the key's place, so
/// that eight keys' chunks of one column lie in different banks.
template <Tile tile>
__device__ __forceinline__ std::uint32_t swizzled(std::uint32_t row, std::uint32_t chunk) {
    constexpr std::uint32_t chunks = tile.chunks();
    constexpr std::uint32_t rows_in_line = chunks >= 8 ? 1 : 8 / chunks;
    constexpr std::uint32_t turned = chunks >= 8 ? 7 : chunks - 1;
    return row * tile.row_bytes() + (chunk ^ (row / rows_in_line & turned)) * 16;
}

/// Bytes of its part that a CTA asks for before the launch in front has ended. More were slower:
/// the one in front is still reading (receipts/h200/logs/2026-11-24-decode_sm90-cuts.log).
inline constexpr std::int32_t bytes_ahead = 32 * 1024;

/// Of this warp among those that take turns at a head's blocks.
template <Tile tile>
__device__ __forceinline__ std::int32_t turn() {
    return tile.sharers() > 1 ? static_cast<std::int32_t>(threadIdx.x / 32) : 0;
}

/// Where a key stands in pages: page, and key in it.
struct InPage {
    std::int32_t page, inside;
};

/// Where a sequence's keys of one head lie.
struct Source {
    const char* base;  ///< of its key 0, or of its head in page 0
    std::int64_t row_bytes, page_bytes;
    const std::int32_t* pages;  ///< of this sequence; null: contiguous

    [[nodiscard]] __device__ __forceinline__ const char* at(InPage key) const {
        return base + key.page * page_bytes + key.inside * row_bytes;
    }
};

/// A key's row may be shorter than what the L2 gets at once, and its neighbours belong to other
/// CTAs: in e4m3 at head dim 64 every byte was read twice
/// (receipts/h200/logs/2026-11-24-decode_sm90-lengths.log).
template <Tile tile>
__device__ __forceinline__ void copy_16(std::uint32_t to, const char* from, int bytes) {
    if constexpr (tile.row_bytes() < 128) {
        ptx::cp_async_cg_l2_64b_16(to, from, bytes);
    } else {
        ptx::cp_async_cg_16(to, from, bytes);
    }
}

/// Where a lane finds its chunks of a unit's scales.
template <bool token_scales>
struct LaneScales {};
template <>
struct LaneScales<true> {
    Source scale_source;
};

template <Tile tile>
struct Loader : LaneScales<tile.token_scales != 0> {
    static constexpr int element = tile.eight_bits != 0 ? 1 : 2;
    static constexpr int rows_at_once = 32 / tile.chunks();
    const Params& p;
    Walk walk;
    std::uint32_t ring;        ///< shared address of this warp's stages
    std::uint32_t scales;      ///< likewise of their scales, where every key has one
    std::int32_t at;           ///< this warp's next block
    std::int32_t first, last;  ///< keys that some query of the sequence sees
    Source k, v;
    int stage = 0;
    bool ended = false;

    __device__ __forceinline__ Loader(const Params& params, const Walk& from, std::uint32_t memory,
                                      std::uint32_t scale_memory)
        : p(params), walk(from), ring(memory), scales(scale_memory) {
        take_up();
    }

    __device__ __forceinline__ Source source(const TensorArg& t, std::int32_t head) const {
        const AttentionArgs& a = p.args;
        const Sequence& s = walk.sequence;
        const auto* data = static_cast<const char*>(t.data) + head * t.head_stride * element;
        if (a.block_table != nullptr) {
            return {data, t.seq_stride * element, t.batch_stride * element,
                    a.block_table + walk.index * a.block_table_stride};
        }
        return {data + (s.k_index * t.batch_stride + s.k_token * t.seq_stride) * element,
                t.seq_stride * element, 0, nullptr};
    }
    /// Where the scales of a sequence's keys or values of one head lie.
    __device__ __forceinline__ Source source(const ScaleArg& t) const {
        constexpr std::int64_t bytes = sizeof(float);
        const Sequence& s = walk.sequence;
        const auto* data =
            reinterpret_cast<const char*>(t.data + walk.own_head<tile>() * t.head_stride);
        if (k.pages != nullptr) {
            return {data, t.seq_stride * bytes, t.batch_stride * bytes, k.pages};
        }
        return {data + (s.k_index * t.batch_stride + s.k_token * t.seq_stride) * bytes,
                t.seq_stride * bytes, 0, nullptr};
    }
    /// The KV head whose rows a lane copies, of whole blocks. Where heads are read side by side a
    /// warp copies keys of all of them: what lies together in memory is asked for together.
    __device__ __forceinline__ std::int32_t copied_head() const {
        return tile.heads() > 1
                   ? walk.head + static_cast<std::int32_t>(threadIdx.x % 32) / tile.chunks()
                   : walk.own_head<tile>();
    }
    /// Of the head that this warp works on.
    __device__ __forceinline__ Source own_source(const TensorArg& t, const Source& copied) const {
        return tile.heads() > 1 ? source(t, walk.own_head<tile>()) : copied;
    }
    __device__ __forceinline__ void take_up() {
        const Band& band = walk.sequence.band;
        first = band.begin(0);
        last = larger(0, band.end(band.length_q - 1));
        k = source(p.args.k, copied_head());
        v = source(p.args.v, copied_head());
        if constexpr (tile.token_scales != 0) {
            this->scale_source = source_of_scales();
        }
        at = walk.block + turn<tile>();
    }

    __device__ __forceinline__ InPage in_page(std::int32_t key) const {
        const std::int32_t entry = p.page_shift >= 0 ? key >> p.page_shift : key / p.args.page_size;
        return {k.pages[entry], key - entry * p.args.page_size};
    }
    /// Address of a key that is seen.
    __device__ __forceinline__ const char* row(const Source& from, std::int32_t key) const {
        return from.pages == nullptr ? from.base + key * from.row_bytes : from.at(in_page(key));
    }

    /// Asks for the part's first keys before the launch in front has ended. What that one still
    /// writes goes through the L2, too, so nothing old is kept. Of a contiguous cache; in pages the
    /// table itself may not be there yet.
    __device__ __forceinline__ void ask_ahead() const {
        if (!p.plain || p.args.block_table != nullptr) {
            return;
        }
        constexpr std::int32_t keys = bytes_ahead / (2 * tile.row_bytes() * tile.heads());
        constexpr int askers = tile.threads() / tile.heads();  // of a head
        const std::int32_t begin = larger(first, walk.block * tile.keys);
        const std::int32_t end = smaller(last, smaller(walk.end * tile.keys, begin + keys));
        const bool values = threadIdx.x % 2 != 0;
        const Source from = own_source(values ? p.args.v : p.args.k, values ? v : k);
        const char* base = from.base;
        const std::int64_t row_bytes = from.row_bytes;
        const int columns = values ? p.args.headdim_v : p.args.headdim;
#pragma unroll 1
        for (auto key = begin + static_cast<std::int32_t>(threadIdx.x % askers / 2); key < end;
             key += askers / 2) {
            ptx::cp_async_bulk_prefetch_l2(base + key * row_bytes,
                                           static_cast<std::uint32_t>(columns * element));
        }
    }

    /// One chunk, by hand: elements of any alignment, those from `columns` on zero.
    __device__ void copy_elements(std::uint32_t to, const char* from, int columns) const {
        std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll 1
        for (int e = 0; e < columns && e < 16 / element; ++e) {
            const std::uint32_t bits =
                element == 1
                    ? static_cast<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(from)[e])
                    : reinterpret_cast<const std::uint16_t*>(from)[e];
            const int bit = 8 * element * e;
#pragma unroll
            for (int word = 0; word < 4; ++word) {
                words[word] |= bit / 32 == word ? bits << (bit % 32) : 0U;
            }
        }
        ptx::st_shared_v4_u32(to, make_uint4(words[0], words[1], words[2], words[3]));
    }

    /// What a lane copies of each row, which row it begins with, where that is, and how many bytes
    /// its next one is away.
    struct Lane {
        std::int32_t chunk, first_row;
        std::int64_t lanes_own, step;
    };
    __device__ __forceinline__ Lane lane_of(const Source& from) const {
        const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
        const std::int32_t chunk = lane % tile.chunks();
        const std::int32_t first_row = lane / tile.chunks();
        return {chunk, first_row, first_row * from.row_bytes + 16 * chunk,
                rows_at_once * from.row_bytes};
    }

    /// Where the runs of 16 keys of block `at` begin: in pages, or keys of the sequence. All of
    /// them are looked up at once, for keys, values and scales.
    struct Runs {
        static constexpr int count = tile.keys / run_keys;
        InPage begin[count];

        __device__ __forceinline__ const char* start(const Source& from, int n) const {
            return from.pages == nullptr ? from.base + begin[n].inside * from.row_bytes
                                         : from.at(begin[n]);
        }
    };
    __device__ __forceinline__ Runs look_up_runs() const {
        Runs runs{};
#pragma unroll
        for (int n = 0; n < Runs::count; ++n) {
            const std::int32_t key = at * tile.keys + n * run_keys;
            runs.begin[n] = k.pages == nullptr ? InPage{0, key} : in_page(key);
        }
        return runs;
    }
    /// Block `at`, all of whose keys are seen: one copy a chunk and nothing else. Columns that the
    /// tensor does not have become zeros. Where heads are read side by side a warp copies each
    /// `warps`th key of all of them, into the rings of the warps that work on these heads.
    __device__ __forceinline__ void copy_plain(const TensorArg& t, const Source& from,
                                               const Runs& runs, std::uint32_t to,
                                               int columns) const {
        constexpr bool side_by_side = tile.heads() > 1;
        constexpr int heads_at_once = smaller(tile.heads(), 32 / tile.chunks());
        constexpr int rows = side_by_side ? tile.warps : rows_at_once;
        constexpr int ring_of_warp = tile.stages * 2 * tile.block_bytes();
        const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
        const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
        const std::int32_t chunk = lane % tile.chunks();
        const std::int32_t head_or_row = lane / tile.chunks();
        const std::int32_t first_row = side_by_side ? warp : head_or_row;
        const int bytes = chunk * 16 / element < columns ? 16 : 0;
        const std::int64_t lanes_own = first_row * from.row_bytes + 16 * chunk;
        if constexpr (side_by_side) {
            to += (head_or_row - warp) * ring_of_warp;  // it was this warp's
        }
        const char* source = runs.start(from, 0) + lanes_own;
#pragma unroll
        for (int r = 0; r < tile.keys; r += rows) {
            if (r > 0 && r % run_keys == 0 && from.pages != nullptr) {
                source = runs.start(from, r / run_keys) + lanes_own;
            }
#pragma unroll
            for (int head = 0; head < tile.heads(); head += heads_at_once) {
                copy_16<tile>(to + head * ring_of_warp + swizzled<tile>(first_row + r, chunk),
                              source + head * t.head_stride * element, bytes);
            }
            source += rows * from.row_bytes;
        }
    }
    /// Scales of such a block, where those of four keys are one chunk: of its keys by the first
    /// lanes, of its values by the next.
    static constexpr int scale_chunks = tile.keys / 4;
    __device__ __forceinline__ Source source_of_scales() const {
        const bool values = threadIdx.x % 32 >= scale_chunks;
        const ScaleArg &of_k = p.k_token_scale, &of_v = p.v_token_scale;
        return source(ScaleArg{values ? of_v.data : of_k.data,
                               values ? of_v.batch_stride : of_k.batch_stride,
                               values ? of_v.seq_stride : of_k.seq_stride,
                               values ? of_v.head_stride : of_k.head_stride});
    }
    /// A lane's chunk; null where there are none, or where scales are copied one by one.
    __device__ __forceinline__ const char* scales_of_lane() const {
        if constexpr (tile.token_scales != 0) {
            const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
            return p.scales_in_chunks
                       ? row(this->scale_source, at * tile.keys + 4 * (lane % scale_chunks))
                       : nullptr;
        } else {
            return nullptr;
        }
    }
    /// Block `at`, not all of whose keys are seen, such as a sequence's last one; else as
    /// copy_plain, in runs of 16 keys. Keys that are not seen become zeros: they may hold NaN, and
    /// 0 times V's would not be 0. The page of a run without a seen key is not looked up.
    __device__ __forceinline__ void copy_edge(const Source& from, std::uint32_t to,
                                              int columns) const {
        const auto [chunk, first_row, lanes_own, step] = lane_of(from);
        const bool exists = chunk * 16 / element < columns;
#pragma unroll 1
        for (int run = 0; run < tile.keys; run += run_keys) {
            const std::int32_t begin = at * tile.keys + run;
            const bool any = begin < last && begin + run_keys > first;
            const char* source = any ? row(from, begin) + lanes_own : from.base;
#pragma unroll
            for (int r = 0; r < run_keys; r += rows_at_once) {
                const std::int32_t key = begin + first_row + r;
                const bool seen = exists && key >= first && key < last;
                copy_16<tile>(to + run * tile.row_bytes() + swizzled<tile>(first_row + r, chunk),
                              seen ? source : from.base, seen ? 16 : 0);
                source += step;
            }
        }
    }
    /// The keys of block `at` that are seen, in pages: each lane looks one key in 32 up, all at
    /// once, since a page may end anywhere.
    struct Places {
        static constexpr int each = (tile.keys + 31) / 32;
        InPage of[each];
    };
    __device__ __forceinline__ Places look_up() const {
        Places places{};
#pragma unroll
        for (int n = 0; n < Places::each; ++n) {
            const std::int32_t key = at * tile.keys + 32 * n + static_cast<int>(threadIdx.x % 32);
            if (key >= first && key < last) {
                places.of[n] = in_page(key);
            }
        }
        return places;
    }
    /// Block `at` in pages of any size, all or some of whose keys are seen.
    __device__ __forceinline__ void copy_pages(const Source& from, const Places& places,
                                               std::uint32_t to, int columns) const {
        constexpr unsigned all_lanes = 0xFFFFFFFFU;
        constexpr int keys = tile.keys < 32 ? tile.keys : 32;
        const auto [chunk, first_row, lanes_own, step] = lane_of(from);
        const bool exists = chunk * 16 / element < columns;
        const char* base = from.base + 16 * chunk;
#pragma unroll
        for (int n = 0; n < Places::each; ++n) {
#pragma unroll 4
            for (int r = 0; r < keys; r += rows_at_once) {
                const std::int32_t row_of_block = 32 * n + r + first_row;
                const std::int32_t page = __shfl_sync(all_lanes, places.of[n].page, r + first_row);
                const std::int32_t inside =
                    __shfl_sync(all_lanes, places.of[n].inside, r + first_row);
                const std::int32_t key = at * tile.keys + row_of_block;
                const bool seen = exists && key >= first && key < last;
                copy_16<tile>(
                    to + swizzled<tile>(row_of_block, chunk),
                    seen ? base + page * from.page_bytes + inside * from.row_bytes : from.base,
                    seen ? 16 : 0);
            }
        }
    }
    /// Any block, K and V, where keys are not aligned; at head dim 256 also in pages of any size.
    __device__ __forceinline__ void copy_any(const Source& keys, const Source& its_values,
                                             std::uint32_t to) const {
        const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
        const std::int32_t chunk = lane % tile.chunks();
        const std::int32_t column = chunk * 16 / element;
#pragma unroll 1
        for (int r = lane / tile.chunks(); r < 2 * tile.keys; r += rows_at_once) {
            const bool values = r >= tile.keys;
            const std::int32_t row_of_block = values ? r - tile.keys : r;
            const Source from{values ? its_values.base : keys.base,
                              values ? its_values.row_bytes : keys.row_bytes,
                              values ? its_values.page_bytes : keys.page_bytes, k.pages};
            const std::int32_t columns = values ? p.args.headdim_v : p.args.headdim;
            const std::int32_t key = at * tile.keys + row_of_block;
            const bool seen = key >= first && key < last && column < columns;
            const std::uint32_t place =
                to + (values ? tile.block_bytes() : 0) + swizzled<tile>(row_of_block, chunk);
            const char* start = seen ? row(from, key) + 16 * chunk : from.base;
            if (p.by_hand) {
                copy_elements(place, start, seen ? columns - column : 0);
            } else {
                copy_16<tile>(place, start, seen ? 16 : 0);
            }
        }
    }

    /// Scales of block `at`, of its keys or of its values. Keys that are not seen get 0: theirs may
    /// be NaN.
    __device__ __forceinline__ void copy_scales(const ScaleArg& t, std::uint32_t to) const {
        const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
        const std::int32_t begin = at * tile.keys;
        const Source from = source(t);
#pragma unroll 1
        for (std::int32_t n = lane; n < tile.keys; n += 32) {
            const std::int32_t key = begin + n;
            const bool seen = key >= first && key < last;
            ptx::cp_async_ca_4(to + 4 * n, seen ? row(from, key) : from.base, seen ? 4 : 0);
        }
    }

    /// Starts copying the next block into the next stage: this warp's, or where heads are read side
    /// by side its share of all heads'. Without one the group is empty.
    __device__ __forceinline__ void fetch() {
        while (!ended && at >= walk.end) {
            ended = !walk.next(p, CutRule(tile));
            if (!ended) {
                take_up();
            }
        }
        if (!ended) {
            const std::uint32_t to = ring + stage * 2 * tile.block_bytes();
            const std::uint32_t scales_to = scales + stage * tile.scale_bytes();
            const std::int32_t key = at * tile.keys;
            bool has_scales = tile.token_scales == 0;
            if (p.plain && key >= first && key + tile.keys <= last) [[likely]] {
                const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
                const Runs runs = look_up_runs();
                const char* its_scales = scales_of_lane();
                copy_plain(p.args.k, k, runs, to, p.args.headdim);
                copy_plain(p.args.v, v, runs, to + tile.block_bytes(), p.args.headdim_v);
                if (its_scales != nullptr) {
                    has_scales = true;
                    if (lane < 2 * scale_chunks) {
                        ptx::cp_async_cg_16(scales_to + 16 * lane, its_scales, 16);
                    }
                }
            } else if (p.plain) {
                copy_edge(own_source(p.args.k, k), to, p.args.headdim);
                copy_edge(own_source(p.args.v, v), to + tile.block_bytes(), p.args.headdim_v);
            } else if (tile.headdim < 256 && !p.by_hand) {  // wider tiles have no registers for it
                const Places places = look_up();
                copy_pages(own_source(p.args.k, k), places, to, p.args.headdim);
                copy_pages(own_source(p.args.v, v), places, to + tile.block_bytes(),
                           p.args.headdim_v);
            } else {
                copy_any(own_source(p.args.k, k), own_source(p.args.v, v), to);
            }
            if (!has_scales) {
                copy_scales(p.k_token_scale, scales_to);
                copy_scales(p.v_token_scale, scales_to + tile.scale_bytes() / 2);
            }
            at += tile.sharers();
        }
        stage = stage + 1 == tile.stages ? 0 : stage + 1;
        ptx::cp_async_commit_group();
    }
};

}  // namespace raceline::kernels::decode_sm90
