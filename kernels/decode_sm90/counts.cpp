// SPDX-License-Identifier: Apache-2.0
// decode_sm90's work as its code does it: whole blocks, padding of rows and head dims included;
// nothing timed.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/decode_sm90/cut.hpp"
#include "model/constant.hpp"
#include "schedule/rereads.hpp"

namespace raceline::kernels::decode_sm90 {
namespace {

constexpr double lanes = 32;
// A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
constexpr double slot = 2;

// Instructions of a warp, one behind the other, on the way of a contiguous cache of equal lengths:
// counted in the machine code of head dim 128, 32 keys a block. Nothing hides them in a call of one
// sequence.
constexpr double instructions_to_first_copy = counted(281, "cuts, place, walk, loader");
constexpr double instructions_of_plan = counted(512, "ragged_part");
constexpr double instructions_of_query =
    counted(80, "load_query, clear_sums: rows apart, about, by SASS");
constexpr double instructions_of_eight_rows =
    counted(145, "load_query, clear_sums, about, by SASS");
constexpr double instructions_of_finish = counted(231, "finish, up to eight rows");
// A profiler's count of what was executed, a warp, on batches of units of one block each:
// receipts/h100-sxm/logs/2026-11-26-decode_sm90-counters.txt.
constexpr double instructions_of_next = counted(218, "to the next unit, by walk and loader");
constexpr double instructions_to_fp16 =
    counted(168, "eight rows of Q in bf16 to fp16, head dim 128, by SASS");
// Likewise of blocks, a warp: receipts/h200/logs/2026-11-29-decode_sm90-counters.txt.
constexpr double instructions_of_lookup =
    counted(16, "a run of 16 keys: its page, for K, V and scales");
// The CTA that ends last combines. Counted when it took one row at a time; not again since.
constexpr double instructions_of_arrival = counted(30, "last_to_arrive");
constexpr double instructions_of_row = counted(212, "combine_rows, but for its parts");
constexpr double instructions_of_turn = counted(255, "combine_rows, 16 parts of a row");
constexpr Constant dependent_clocks = calibrated(
    "decode_sm90.dependent_clocks", 5,
    "chosen with times of decode-grid at hand, those of the program before ea30c71", 4,
    "a dependent instruction of most arithmetic: CUDA C++ Programming Guide, multiprocessor level");

/// Rows that the code of a call works on, by eight: a tree's has all 16.
double eights_of(const Workload& w) {
    return w.tree == 0 && has_few_rows(w.seqlen_q, w.group()) ? 1 : 2;
}

// One block of keys of one warp.
Work block_work(const Workload& w, const Tile& t) {
    const double keys = t.keys;
    const double bytes = 2.0 * t.block_bytes();
    const bool widens = t.eight_bits != 0;
    const std::string flop = std::string("flop.mma.") + (widens ? "fp16" : name_of(w.dtype));
    const double eights = eights_of(w);
    const double rows = 8 * eights;
    const double products = 2.0 * keys / 16 * t.headdim / 16 * eights;
    Work work;
    work[flop] = products * 2 * 16 * 8 * 16;
    work["op.ex2"] = rows * keys;
    work["flop.fma.fp32"] = slot * rows * keys * counted(4, "scale, maximum, shift, sum");
    work["byte.smem_lsu"] = 2 * bytes;  // as copies land, and as fragments are read
    work["byte.l2"] = keys * static_cast<double>(w.headdim + w.headdim_v) * bytes_of(w.kv_dtype);
    const double words = bytes / 512;  // what a warp copies, or reads as fragments, at once
    // Where no SASS is named: numbers chosen so that the sums meet the instructions of a block that
    // a profiler counted (not times), 350 and 407 of 16 keys in bf16, 542 and 638 of 32 in e4m3.
    double instructions =
        products + words * (1 + counted(7, "address, copy")) +
        keys / 8 * eights * counted(12, "scale, maximum, exponentials, sum, packing, by SASS") +
        counted(162, "the loop, the limits of a block") + eights * counted(16, "votes, rows");
    if (w.page_size > 0) {
        instructions +=
            w.page_size % run_keys == 0 ? keys / run_keys * instructions_of_lookup
            : t.headdim < 256
                ? instructions_of_lookup + words * counted(23, "copy_pages: a row's place, by SASS")
                : words * counted(72, "copy_any: a row looked up, by SASS");
    }
    if (w.softcap > 0) {
        instructions +=
            keys / 8 * eights * counted(30, "tanh_anywhere of a lane's two scores, tanh.cuh");
        work["op.ex2"] += 2 * rows * keys;
        work["flop.fma.fp32"] += slot * rows * keys * counted(11, "tanh.cuh");
    }
    if (widens) {
        instructions += bytes / 128 * counted(2.5, "conversions and their operands, by SASS");
    }
    if (t.token_scales != 0) {
        instructions +=
            keys / 8 * (1 + eights) * counted(4, "scales of eight keys and values, by SASS") +
            counted(71, "copies of scales, their largest: 645 less 542");
        work["flop.fma.fp32"] += slot * rows * keys * counted(2, "a key's scale, a value's");
        work["byte.l2"] += t.scale_bytes();
        work["byte.smem_lsu"] += 2.0 * t.scale_bytes();
    }
    work["op.issue"] = lanes * instructions;
    return work;
}

// What a warp's block brings comes from DRAM, all of it.
Work streamed(Work blocks) {
    blocks["byte.dram_read"] = blocks.at("byte.l2");
    return blocks;
}

/// Units that several CTAs read.
struct Split {
    double units;     ///< how many
    double of_unit;   ///< parts of one, at most
    double rows;      ///< of one
    double in_bytes;  ///< what their parts hold
};
Split split_of(const Workload& w, const Tile& t, const Cut& cut) {
    Split split{
        cut.split_units, cut.most_of_unit,
        t.heads() * std::min<double>(tile_rows, static_cast<double>(w.seqlen_q * w.group())), 0};
    split.in_bytes =
        split.of_unit * split.rows * (static_cast<double>(t.headdim) + 2) * sizeof(float);
    return split;
}

// What comes before the first copy where the device alone knows the lengths. A batch that fits is
// planned before the launch in front has ended. Behind it lengths are compared: by lanes that hold
// them, or by each thread for some sequences in turn. Of a larger one a warp sums them, finds a
// share and finds its place, 32 sequences at a time.
void add_lengths(const Workload& w, double threads, Counts& c) {
    const bool paged = w.page_size > 0;
    if (!w.ragged() && !paged) {
        return;
    }
    constexpr double passes = share_attempts;
    const bool early = w.batch <= most_shared_owns;
    const double compared =
        w.batch < 32 ? 1 : 1 + std::ceil(static_cast<double>(w.batch) / threads);
    Step lengths{"lengths",
                 early ? compared : passes * std::ceil(static_cast<double>(w.batch) / 32),
                 {},
                 "latency.l2"};
    lengths.clocks = early ? 0 : instructions_of_plan / passes * dependent_clocks;
    c.steps.insert(c.steps.begin(), lengths);
    if (paged) {
        c.steps.insert(c.steps.begin() + 1, Step{"pages", 1, {}, "latency.l2"});
    }
}

// What the CTA that comes last does behind its own part: it counts itself, which is two ways to the
// L2 and back, and then brings the parts together.
void add_last_arriver(const Split& split, const Tile& t, Counts& c) {
    if (split.units <= 0) {
        return;
    }
    const double rows = std::ceil(split.rows / t.warps);
    const double turns = split.of_unit <= few_parts(t)
                             ? std::ceil(rows / rows_of_few_parts(t))
                             : rows * std::ceil(split.of_unit / parts_at_once(t));
    c.work["byte.l2"] += split.units * split.in_bytes;
    for (const char* way : {"arrive", "told"}) {
        c.steps.push_back({way, 1, {}, "latency.l2"});
        c.steps.back().clocks = instructions_of_arrival / 2 * dependent_clocks;
    }
    c.steps.push_back({"parts", turns, {{"byte.l2", split.in_bytes / turns}}, "latency.l2"});
    c.steps.back().in_a_row = true;  // a unit's end, while no block is left to read
    c.steps.back().clocks =
        (instructions_of_turn + instructions_of_row * rows / turns) * dependent_clocks;
}

// Eight rows of a unit end at a time.
double halves_of(const Workload& w) {
    const double rows = static_cast<double>(w.seqlen_q * w.group());
    return std::ceil(std::min<double>(tile_rows, rows) / 8);
}

// Of a warp, before its first block of a unit.
double instructions_of_unit(const Workload& w, const Tile& t) {
    const bool converts = t.eight_bits != 0 && w.dtype == DType::bf16;
    return instructions_of_query + instructions_of_next +
           eights_of(w) * (instructions_of_eight_rows +
                           (converts ? instructions_to_fp16 * t.headdim / 128 : 0));
}

Counts launch_of(const Workload& w, const Tile& t, const Cut& cut) {
    const Totals totals = totals_of(w, t);
    const double blocks = static_cast<double>(totals.blocks) * t.heads();
    const double parts = cut.parts;
    const double ends = cut.ends;
    const double row_bytes = t.heads() * static_cast<double>(w.headdim_v) * sizeof(float);
    const double partial_bytes = 2 * parts * tile_rows * row_bytes;
    const double query_bytes =
        t.warps * 8 * eights_of(w) * static_cast<double>(w.headdim) * bytes_of(w.dtype);
    const Work block = block_work(w, t);

    Counts c;
    c.launch = "main";
    c.work = block * blocks;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = w.bytes_out();
    c.work["byte.l2"] = w.bytes_kv() * totals.row_tiles + w.bytes_q() * t.sharers() + partial_bytes;
    // Units of the same keys stand side by side in the line: a CTA reads them one after the other.
    c.reread.push_back(
        {w.bytes_kv() * (totals.row_tiles - 1),
         std::min(w.bytes_kv(),
                  w.bytes_kv() / static_cast<double>(w.batch * w.heads_kv) * t.heads() * parts)});
    schedule::add_time_of_rows(c, w, t.heads());
    c.ctas = static_cast<std::int64_t>(parts);
    c.threads = t.threads();
    c.warps_counted = true;
    c.registers = static_cast<int>(counted(255, "the launch bound"));
    c.smem_bytes = t.shared_bytes();
    c.bytes_in_flight = t.ring_bytes();
    c.balanced_order = true;
    const Work together{
        {"byte.smem_lsu", 2.0 * t.warps * tile_rows * t.headdim * sizeof(float)},
        {"byte.l2", tile_rows * row_bytes},
        {"op.issue", t.threads() * counted(220, "meeting: outputs given, taken, written")}};
    c.steps = {{"start", 1, {}, "latency.dram"},
               {"query", ends, {{"byte.l2", query_bytes}}, "latency.l2"},
               {"blocks", cut.of_warp, streamed(block * static_cast<double>(t.warps)), ""},
               {"finish", ends, together, "latency.l2"}};
    c.steps[0].clocks = instructions_to_first_copy * dependent_clocks;
    c.steps[1].clocks = instructions_of_unit(w, t) * dependent_clocks;
    c.steps[2].clocks = block.at("op.issue") / lanes * dependent_clocks;
    c.steps.back().clocks = instructions_of_finish * halves_of(w) * dependent_clocks;
    add_lengths(w, t.threads(), c);
    add_last_arriver(split_of(w, t, cut), t, c);
    c.overlap = {{std::string("flop.mma.") + (t.eight_bits != 0 ? "fp16" : name_of(w.dtype)),
                  "op.ex2", "flop.fma.fp32", "op.issue", "byte.smem_lsu", "byte.l2",
                  "byte.dram_read", "byte.dram_write"}};
    return c;
}

}  // namespace

std::int64_t blocks_of_call(const Workload& w, const Tile& tile) {
    return totals_of(w, tile).blocks;
}

std::int64_t length_of_line(const Workload& w, const Tile& tile) {
    const Totals totals = totals_of(w, tile);
    return totals.blocks + totals.units * CutRule(tile).pad;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    return one_launch(launch_of(w, tile, cut_of(w, tile, device)));
}

}  // namespace raceline::kernels::decode_sm90
