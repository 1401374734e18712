// SPDX-License-Identifier: Apache-2.0
// decode_sm90's work as its code does it: whole blocks, padding of rows and head dims included;
// nothing timed.

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "kernels/decode_sm90/params.hpp"
#include "model/constant.hpp"

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
constexpr double instructions_of_query = counted(293, "load_query, clear_sums");
constexpr double instructions_of_finish = counted(231, "finish, up to eight rows");
constexpr double instructions_of_combine = counted(264, "combine, behind its wait");
constexpr double instructions_of_part = counted(36, "combine, a part of a row");
// Where the CTA that ends last combines.
constexpr double instructions_of_arrival = counted(30, "last_to_arrive");
constexpr double instructions_of_row = counted(212, "combine_parts, but for its parts");
constexpr double instructions_of_turn = counted(255, "combine_parts, 16 parts of a row");
constexpr double parts_of_turn = counted(16, "combine_parts");
constexpr Constant dependent_clocks = calibrated(
    "decode_sm90.dependent_clocks", 5,
    "chosen with times of decode-grid at hand, those of the program before ea30c71", 4,
    "a dependent instruction of most arithmetic: CUDA C++ Programming Guide, multiprocessor level");

std::int64_t blocks_of_sequence(const Workload& w, const Tile& tile, const Problem& problem,
                                std::int64_t b) {
    Band band = problem.band();
    band.length_q = static_cast<std::int32_t>(w.length_q(b));
    band.length_k = static_cast<std::int32_t>(w.length_k(b));
    return blocks_of(band, tile.keys).count();
}

std::int64_t units_of(const Workload& w, const Plan& plan) {
    return w.batch * w.heads_kv * plan.row_tiles;
}

// How a call is cut up, in the same way as its launch does it, or the device where lengths differ.
struct Cut {
    double parts = 1, longest = 0;       // blocks of the longest one
    double units = 0, most_of_unit = 0;  // units of several parts, and the most parts of one
    bool by_units = false;
    // Of the part that takes longest, where it is known (else 0): units that end in it, and blocks
    // of its busiest warps, which share those of one unit after the other.
    double ends = 0, of_warp = 0;
};

Cut cut_line(const Cuts& line, double units) {
    const double parts = line.parts;
    return {parts, static_cast<double>(line.longest()), std::min(units, parts - 1),
            std::ceil(parts / std::max(1.0, units)) + 1, false};
}

// Sequences of a line, in its order.
struct Lined {
    std::int64_t units = 0, of_unit = 0;  // blocks of each
};

// Parts of a line have as many blocks. One that holds many short units ends each of them, and takes
// longest.
Cut cut_ragged_line(const Cuts& line, double units, std::span<const Lined> sequences,
                    const CutRule& rule) {
    Cut cut = cut_line(line, units);
    const double blocks_of_end = bytes_of_an_end / (2.0 * rule.block_bytes);
    std::size_t at = 0;
    std::int64_t start = 0;  // of that sequence
    double longest = 0;
    for (std::int32_t part = 0; part < line.parts; ++part) {
        const std::int64_t begin = line.begin(part);
        const std::int64_t end = line.begin(part + 1);
        std::int64_t ends = 0, of_warp = 0;
        for (;;) {
            const Lined& its = sequences[at];
            const std::int64_t behind = start + its.units * its.of_unit;
            const std::int64_t from = std::max(begin, start);
            const std::int64_t to = std::min(end, behind);
            if (from < to) {
                const std::int64_t first = (from - start) / its.of_unit;
                const std::int64_t last = (to - 1 - start) / its.of_unit;
                const auto turns = [&](std::int64_t blocks) {
                    return divide_up(blocks, std::int64_t{rule.warps});
                };
                ends += last - first + 1;
                of_warp += first == last ? turns(to - from)
                                         : turns(start + (first + 1) * its.of_unit - from) +
                                               (last - first - 1) * turns(its.of_unit) +
                                               turns(to - start - last * its.of_unit);
            }
            if (behind > end || at + 1 == sequences.size()) {
                break;
            }
            start = behind;
            ++at;
        }
        const double weight =
            static_cast<double>(of_warp * rule.warps) + blocks_of_end * static_cast<double>(ends);
        if (weight > longest) {
            longest = weight;
            cut.longest = static_cast<double>(end - begin);
            cut.ends = static_cast<double>(ends);
            cut.of_warp = static_cast<double>(of_warp);
        }
    }
    return cut;
}

Cut cut_equal(const Workload& w, std::int32_t blocks, const Plan& plan, const Tile& t) {
    const auto units = static_cast<std::int32_t>(units_of(w, plan));
    const Cuts cuts = cuts_of_equal(units, blocks / units, plan.ctas, CutRule(t));
    if (!cuts.by_units()) {
        return cut_line(cuts, units);
    }
    return {static_cast<double>(cuts.parts), static_cast<double>(cuts.longest()),
            cuts.of_unit > 1 ? static_cast<double>(units) : 0.0, static_cast<double>(cuts.of_unit),
            true};
}

Cut cut_ragged(const Workload& w, std::int32_t blocks, const Plan& plan, const Tile& t) {
    const CutRule rule(t);
    const Problem problem = problem_of(w);
    const Cuts line(blocks, plan.ctas, rule.least());
    const auto of_sequence = static_cast<std::int32_t>(w.heads_kv) * plan.row_tiles;
    std::int32_t units = 0;
    std::vector<Lined> sequences;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const std::int64_t own = blocks_of_sequence(w, t, problem, b);
        units += own > 0 ? of_sequence : 0;
        sequences.push_back({of_sequence, own});
    }
    if (units > plan.ctas) {
        return cut_ragged_line(line, units, sequences, rule);
    }
    Cut cut;
    for (int attempt = 0; attempt < share_attempts; ++attempt) {
        const std::int32_t share = share_of(blocks, units, plan.ctas, attempt);
        cut = {0, 0, 0, 0, true};
        for (std::int64_t b = 0; b < w.batch; ++b) {
            const auto own = static_cast<std::int32_t>(blocks_of_sequence(w, t, problem, b));
            const std::int32_t parts = own > 0 ? rule.parts(own, share) : 0;
            cut.longest = std::max<double>(cut.longest, own > 0 ? (own + parts - 1) / parts : 0);
            cut.parts += of_sequence * parts;
            cut.units += parts > 1 ? of_sequence : 0;
            cut.most_of_unit = std::max<double>(cut.most_of_unit, parts);
        }
        if (cut.parts <= plan.ctas) {
            break;
        }
    }
    return rule.by_units(static_cast<std::int32_t>(cut.longest), line)
               ? cut
               : cut_ragged_line(line, units, sequences, rule);
}

Cut cut_of(const Workload& w, double blocks, const Plan& plan, const Tile& t) {
    const auto all = static_cast<std::int32_t>(blocks);
    if (all == 0) {
        return {};
    }
    return w.ragged() ? cut_ragged(w, all, plan, t) : cut_equal(w, all, plan, t);
}

// One block of keys of one warp.
Work block_work(const Workload& w, const Tile& t) {
    const double keys = t.keys;
    const double bytes = 2.0 * t.block_bytes();
    const bool widens = t.eight_bits != 0;
    const std::string flop = std::string("flop.mma.") + (widens ? "fp16" : name_of(w.dtype));
    const double products = 2.0 * keys / 8 * t.headdim / 16;
    Work work;
    work[flop] = products * 2 * tile_rows * 8 * 16;
    work["op.ex2"] = tile_rows * keys;
    work["flop.fma.fp32"] = slot * tile_rows * keys * counted(4, "scale, maximum, shift, sum");
    work["byte.smem_lsu"] = 2 * bytes;  // as copies land, and as fragments are read
    work["byte.l2"] = keys * static_cast<double>(w.headdim + w.headdim_v) * bytes_of(w.kv_dtype);
    const double words = bytes / 512;  // what a warp copies, or reads as fragments, at once
    double instructions = products + words * (1 + counted(7, "address, copy")) +
                          keys / 8 * counted(35, "scale, maximum, exponentials, sum, packing") +
                          counted(113, "the loop, the limits of a block, votes, exchanges");
    if (widens) {
        instructions += bytes / 128 * counted(3.1, "conversions and their operands");
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
    Split split{cut.units, cut.most_of_unit,
                std::min<double>(tile_rows, static_cast<double>(w.seqlen_q * w.group())), 0};
    split.in_bytes =
        split.of_unit * split.rows * (static_cast<double>(t.headdim) + 2) * sizeof(float);
    return split;
}

// Ends of units in one part. A part of the line that holds less than a unit may hold the end of one
// and the beginning of the next, and those that do are waited for.
double ends_of(const Workload& w, const Plan& plan, const Cut& cut) {
    const auto units = static_cast<double>(units_of(w, plan));
    return cut.ends > 0                 ? cut.ends
           : cut.by_units || units <= 1 ? 1
                                        : std::ceil(units / cut.parts) + 1;
}

// What comes before the first copy where the device alone knows the lengths. Those of a small batch
// are read before the launch in front has ended, and behind it only once more; of a larger one a
// warp sums them, finds a share and finds its place, 32 sequences at a time.
void add_lengths(const Workload& w, Counts& c) {
    const bool paged = w.page_size > 0;
    if (!w.ragged() && !paged) {
        return;
    }
    constexpr double passes = share_attempts;
    const bool held = w.batch < 32;
    Step lengths{"lengths",
                 held ? 1 : passes * std::ceil(static_cast<double>(w.batch) / 32),
                 {},
                 "latency.l2"};
    lengths.clocks = held ? 0 : instructions_of_plan / passes * dependent_clocks;
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
    const double turns = rows * std::ceil(split.of_unit / parts_of_turn);
    c.work["byte.l2"] += split.units * split.in_bytes;
    for (const char* way : {"arrive", "told"}) {
        c.steps.push_back({way, 1, {}, "latency.l2"});
        c.steps.back().clocks = instructions_of_arrival / 2 * dependent_clocks;
    }
    c.steps.push_back({"parts", turns, {{"byte.l2", split.in_bytes / turns}}, "latency.l2"});
    c.steps.back().clocks =
        (instructions_of_turn + instructions_of_row * rows / turns) * dependent_clocks;
}

Counts main_launch(const Workload& w, const Tile& t, const Plan& plan, double blocks) {
    const Cut cut = cut_of(w, blocks, plan, t);
    const double parts = cut.parts;
    const double of_part = cut.longest;
    const double of_warp = cut.of_warp > 0 ? cut.of_warp : std::ceil(of_part / t.warps);
    const double ends = ends_of(w, plan, cut);
    const double row_bytes = static_cast<double>(w.headdim_v) * sizeof(float);
    const double partial_bytes = 2 * parts * tile_rows * row_bytes;
    const double query_bytes =
        t.warps * tile_rows * static_cast<double>(w.headdim) * bytes_of(w.dtype);
    const Work block = block_work(w, t);

    Counts c;
    c.launch = "main";
    c.work = block * blocks;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = w.bytes_out();
    c.work["byte.l2"] = w.bytes_kv() * plan.row_tiles + w.bytes_q() * t.warps + partial_bytes;
    // Units of the same keys stand side by side in the line: a CTA reads them one after the other.
    c.reread.push_back(
        {w.bytes_kv() * (plan.row_tiles - 1),
         std::min(w.bytes_kv(), w.bytes_kv() / static_cast<double>(w.batch * w.heads_kv) * parts)});
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
               {"blocks", of_warp, streamed(block * static_cast<double>(t.warps)), ""},
               {"finish", ends, together, "latency.l2"}};
    c.steps[0].clocks = instructions_to_first_copy * dependent_clocks;
    c.steps[1].clocks = instructions_of_query * dependent_clocks;
    c.steps[2].clocks = block.at("op.issue") / lanes * dependent_clocks;
    c.steps.back().clocks = instructions_of_finish * dependent_clocks;
    add_lengths(w, c);
    if (t.launches == 1) {
        add_last_arriver(split_of(w, t, cut), t, c);
    }
    c.overlap = {{std::string("flop.mma.") + (t.eight_bits != 0 ? "fp16" : name_of(w.dtype)),
                  "op.ex2", "flop.fma.fp32", "op.issue", "byte.smem_lsu", "byte.l2",
                  "byte.dram_read", "byte.dram_write"}};
    return c;
}

Counts combine_launch(const Workload& w, const Tile& t, const Plan& plan, double blocks) {
    const Split split = split_of(w, t, cut_of(w, blocks, plan, t));
    const double in_turn = std::ceil(split.of_unit * split.rows / (combine_threads / 32.0));
    Counts c;
    c.launch = "combine";
    c.work["byte.l2"] = split.units * split.in_bytes + w.bytes_out();
    c.work["byte.dram_write"] = w.bytes_out();
    c.ctas = std::max(1, plan.ctas - 1);
    c.threads = combine_threads;
    c.warps_counted = true;
    c.registers = static_cast<int>(counted(57, "the compiler's report, head dim 256"));
    c.smem_bytes = static_cast<std::int64_t>(combine_threads) * 16 * divide_up(t.headdim, 128);
    c.bytes_in_flight = split.in_bytes;
    c.steps = {{"lengths", 1, {}, "latency.l2"},
               {"parts", std::ceil(in_turn / 4), {{"byte.l2", split.in_bytes}}, "latency.l2"}};
    c.steps[0].clocks =
        (instructions_of_combine + in_turn * instructions_of_part) * dependent_clocks;
    c.overlap = {{"byte.l2", "byte.dram_write"}};
    return c;
}

}  // namespace

std::int64_t blocks_of_call(const Workload& w, const Tile& tile) {
    const Problem problem = problem_of(w);
    const std::int64_t row_tiles = divide_up(problem.seqlen_q * problem.group(), tile_rows);
    std::int64_t blocks = 0;
    if (!w.ragged()) {
        blocks = w.batch * blocks_of_sequence(w, tile, problem, 0);
    } else {
        for (std::int64_t b = 0; b < w.batch; ++b) {
            blocks += blocks_of_sequence(w, tile, problem, b);
        }
    }
    return blocks * w.heads_kv * row_tiles;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = make_plan(problem_of(w), tile, device);
    const auto blocks = static_cast<double>(blocks_of_call(w, tile));
    std::vector<Counts> launches{main_launch(w, tile, plan, blocks)};
    if (tile.launches == 2) {
        launches.push_back(combine_launch(w, tile, plan, blocks));
    }
    return launches;
}

}  // namespace raceline::kernels::decode_sm90
