// SPDX-License-Identifier: Apache-2.0
// Rung 1 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/device.hpp"
#include "ladder/from_scratch/minimal/tile.hpp"
#include "ladder/tracks/counts.hpp"
#include "ladder/tracks/record.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::minimal {

constexpr Rung rung{
    .track = "from-scratch",
    .changes =
        "the start: a CTA a query row, its scores in shared memory, maximum and sum by one thread",
    .evidence =
        "one launch of as many CTAs as there are query rows; plain 2- or 4-byte loads, no "
        "shuffle, no matrix instruction",
};

using namespace tracks;

namespace {

std::string supports(const Workload& w, const Tile&, const Device& device) {
    if (std::string beyond = beyond_floats(w, device); !beyond.empty()) {
        return beyond;
    }
    constexpr std::int64_t own = 1024;  // maximum, sum and what the system takes
    if (device.smem_bytes_per_cta > 0 &&
        shared_bytes(w.headdim, w.seqlen_k) + own > device.smem_bytes_per_cta) {
        return "the scores of one row do not fit into a CTA's shared memory";
    }
    return {};
}

// What a warp executes, read from the machine code that nvcc makes for sm_90 and held to it by a
// test: loops over sixteen columns or keys, over four keys for the exponentials. Clocks are the
// compiler's stall counts and 29 for a load of shared memory that the next instruction needs; waits
// for global memory are counted as such.
struct Codes {
    Code columns, key, serial, exponentials, keys, rest;
};
constexpr Codes codes(bool wide) {
    return {wide ? Code{44, 143 + 29} : Code{60, 156 + 29},  // sixteen columns of a score
            {25, 65},                                        // a key's address and its score
            {25, 87 + 29},                                   // sixteen keys of maximum or sum
            {50, 95 + 29 + 18},                              // four keys
            wide ? Code{73, 188 + 29} : Code{89, 243 + 29},  // sixteen keys of an output
            {450, 1700}};
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    const TileCover cover = cover_tiles(w, 1, 1);  // a tile is a row and a key
    const Codes code = codes(w.dtype == DType::fp32);
    const auto d = static_cast<double>(w.headdim);
    const double element = bytes_of(w.dtype);
    const double threads = tile.threads;
    const double warps = threads / 32;
    const double rows = std::max(1.0, cover.row_tiles);
    const double most = cover.most_tiles;
    const double mean = cover.pairs / rows;
    const double columns = std::ceil(d / threads);  // of a thread
    const double working = std::min(warps, d / 32);

    // Of a row with n keys. Steps go by what a warp waits for.
    const auto steps = [&](double n) {
        const double keys = std::ceil(n / threads);  // of a thread
        const double key_warps = std::ceil(n / 32);
        const Code per_key = {code.columns.instructions + code.key.instructions * 16 / d,
                              code.columns.clocks + code.key.clocks * 16 / d};
        Step scores{"scores", keys * d / 16, {}, "latency.l2", per_key.clocks};
        const double loads = d * (32 + 1);  // 32 lanes read 32 rows; of Q all lanes read the same
        const double repeats = std::max(1.0, scores.repeat);
        scores.work = {{"flop.fma.fp32", 2 * n * d / repeats},
                       {"op.issue", key_warps * d / 16 * 32 * per_key.instructions / repeats},
                       {"byte.smem_lsu", key_warps * loads * pass_bytes / repeats},
                       {"byte.l2", n * d * element / repeats}};
        Step serial{"serial",
                    n / 16,
                    {{"op.issue", 2 * 32 * code.serial.instructions}, {"byte.smem_lsu", 8 * 128.0}},
                    "",
                    2 * code.serial.clocks};
        Step exponentials{"exponentials",
                          1,
                          {{"op.ex2", n},
                           {"op.issue", key_warps * 32 * code.exponentials.instructions / 4},
                           {"byte.smem_lsu", key_warps * 2 * pass_bytes}},
                          "",
                          std::ceil(keys / 4) * code.exponentials.clocks};
        // A load of V a key and warp, and for four keys one of the scores.
        Step outputs{"outputs",
                     columns * n / 16,
                     {{"flop.fma.fp32", 2 * 16 * d / columns},
                      {"op.issue", working * 32 * code.keys.instructions},
                      {"byte.smem_lsu", working * 16 * 2 * pass_bytes},
                      {"byte.l2", 16 * d * element / columns}},
                     "latency.l2",
                     code.keys.clocks};
        Step rest{"rest",
                  1,
                  {{"op.issue", threads * code.rest.instructions},
                   {"byte.l2", (w.bytes_q() + w.bytes_out()) / rows}},
                  "latency.dram",
                  code.rest.clocks};
        return std::vector<Step>{rest, scores, serial, exponentials, outputs};
    };
    Counts c = launch_counts("forward", cover, "flop.fma.fp32");
    add_traffic(c, w);
    for (const Step& step : steps(mean)) {
        for (const auto& [id, amount] : step.work) {
            c.work[id] += rows * step.repeat * amount;
        }
    }
    c.steps = steps(most);
    c.reread.push_back({std::max(0.0, cover.pairs * 2 * d * element - w.bytes_kv()), w.bytes_kv()});
    c.threads = tile.threads;
    c.registers = w.dtype == DType::fp32 ? 40 : 32;
    c.smem_bytes = shared_bytes(w.headdim, w.seqlen_k) + std::int64_t{8};
    c.bytes_in_flight = threads * 16 * element;
    return {c};
}

}  // namespace
}  // namespace raceline::kernels::minimal

RACELINE_KERNEL(minimal, record_of(rung, "one CTA a query row, everything else left undone", tiles,
                                   {supports, counts, float_precision, no_workspace}))
