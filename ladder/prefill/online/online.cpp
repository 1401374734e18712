// SPDX-License-Identifier: Apache-2.0
// Rung 3 of the prefill ladder: the record, and what its two launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>

#include "ladder/prefill/forward.hpp"
#include "ladder/prefill/online/totals.hpp"

namespace raceline::kernels::online {

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "tiled",
    .changes =
        "S is never stored: one launch finds each row's maximum and sum online, a second computes "
        "the scores again (Q K^T is multiplied twice)",
    .evidence =
        "8 bytes of workspace a row instead of 4 a score; two launches; no global store in a "
        "loop; shared memory without bank conflicts",
};

using namespace prefill;

namespace {

std::size_t workspace(const Workload& w, const RowsTile&, const Device&) {
    return static_cast<std::size_t>(w.batch * w.heads_q * w.seqlen_q) * sizeof(RowTotals);
}

// A staged element is 11.6 instructions, four columns of a score six, four keys of a column of O
// eight.
constexpr Code totals_loop(double elements, double headdim) {
    const double n = 55 + 11.6 * elements + 1.5 * headdim;
    return {n, 2.8 * n};
}
constexpr Code outputs_loop(double elements, double headdim) {
    const double n = 68 + 11.6 * elements + 3.5 * headdim;
    return {n, 2.4 * n};
}
constexpr Code rest_code(double headdim) {  // before and after the loop, in both
    return {258 + 0.43 * headdim, 650 + 1.1 * headdim};
}

// As the compiler reports for sm_90.
constexpr std::array<std::array<int, 4>, 3> totals_registers{
    {{50, 52, 64, 74}, {40, 40, 40, 40}, {32, 32, 42, 42}}};
constexpr std::array<std::array<int, 4>, 3> outputs_registers{
    {{76, 61, 76, 102}, {44, 56, 64, 64}, {47, 46, 58, 56}}};

std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device& device) {
    const TileCover cover = cover_tiles(w, tile.rows, tile_keys);
    const auto d = static_cast<double>(w.headdim);
    const double elements = d / tile.rows;  // elements of a staged tile of K or V a thread
    const double k_bytes = tile_keys * d * bytes_of(w.dtype);
    const double rows = static_cast<double>(w.tokens_q() * w.heads_q);
    const double row_bytes = rows * sizeof(RowTotals);  // that one launch leaves to the other
    // A store of every staged element; K and Q for each score, sixteen bytes at a time.
    const double scores = d / 4 * (shared_quad_passes + quad_passes);
    const int threads = warp_threads(tile.rows);
    const double products = 2.0 * tile.rows * tile_keys;
    Walk walk{.launch = "totals",
              .products = "flop.fma.fp32",
              .rows = tile.rows,
              .threads = threads,
              .registers = registers_of(totals_registers, tile.rows, w),
              .smem_bytes = warp_bytes<ScoresShared>(tile, w),
              .tile = {role(
                  "tiles", 1, totals_loop(elements, d), threads, tile.rows * (elements + scores),
                  {{"flop.fma.fp32", products * d}, {"op.ex2", products}, {"byte.l2", k_bytes}})},
              .once = role("setup", 1, rest_code(d), threads, tile.rows * d / 32,
                           {{"byte.l2", w.bytes_q() / std::max(1.0, cover.row_tiles)}})};
    Counts totals = walk_counts(w, cover, walk);
    totals.work["byte.l2"] += row_bytes;
    totals.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() / 2;
    totals.work["byte.dram_write"] = rows * sizeof(float);  // LSE; the totals stay in the L2
    totals.reread.push_back(
        {std::max(0.0, cover.tiles * k_bytes - w.bytes_kv() / 2), w.bytes_kv() / 2});

    walk.launch = "outputs";
    walk.registers = registers_of(outputs_registers, tile.rows, w);
    walk.smem_bytes = warp_bytes<BothShared>(tile, w);
    // And a store of P, a load of V a key and column, one of P for four keys.
    const double values = 1 + d + tile_keys / 4.0 * shared_quad_passes;
    walk.tile = {role(
        "tiles", 1, outputs_loop(2 * elements, d), threads,
        tile.rows * (2 * elements + scores + values),
        {{"flop.fma.fp32", 2 * products * d}, {"op.ex2", products / 2}, {"byte.l2", k_bytes * 2}})};
    Counts outputs = walk_counts(w, cover, walk);
    outputs.work["byte.l2"] += row_bytes + w.bytes_out();
    // Q and K were read by the launch before.
    const double again = w.bytes_q() + w.bytes_kv() / 2;
    const bool kept = again <= static_cast<double>(device.l2_bytes);
    outputs.work["byte.dram_read"] = w.bytes_kv() / 2 + (kept ? 0 : again);
    outputs.work["byte.dram_write"] = w.bytes_out();
    outputs.reread.push_back(
        {std::max(0.0, cover.tiles * k_bytes * 2 - w.bytes_kv()), w.bytes_kv()});
    return {totals, outputs};
}

}  // namespace
}  // namespace raceline::kernels::online

RACELINE_KERNEL(online,
                record_of(rung, "two passes with an online softmax between them, no score matrix",
                          warp_tiles, {supports_floats, counts, float_precision, workspace}))
