// SPDX-License-Identifier: Apache-2.0
// Rung 1 of the prefill ladder: the record, and what its three launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <cmath>

#include "ladder/prefill/forward.hpp"
#include "ladder/prefill/naive/softmax.hpp"
#include "ladder/prefill/naive/tile.hpp"

namespace raceline::kernels::naive {

constexpr Rung rung{
    .track = "prefill",
    .changes = "the start: three passes in fp32, the score matrix S in global memory",
    .evidence =
        "three launches; S written once and read by the two that follow; plain 4- or 2-byte "
        "loads, no shared memory, no matrix instruction",
};

using namespace prefill;

Counts softmax_work(const Workload& w, const Device& device, double rows, double pairs,
                    double instructions) {
    const double matrix = pairs * sizeof(float);
    const double spilled = matrix > static_cast<double>(device.l2_bytes) ? matrix : 0;
    Counts c;
    c.launch = "softmax";
    c.work["op.ex2"] = pairs;
    c.work["op.issue"] = pairs * instructions;
    // Three sweeps read, two write.
    c.work["byte.l2"] = 5 * matrix + rows * sizeof(float);
    c.work["byte.dram_read"] = spilled;
    c.work["byte.dram_write"] = spilled + rows * sizeof(float);
    c.work["byte.smem_lsu"] = 5 * matrix;
    // Between its sweeps a row must survive beside the rows of all other resident warps.
    const double resident_rows = device.units * (device.threads_per_unit / 32.0);
    c.reread.push_back(
        {2 * matrix, std::min(matrix, resident_rows * static_cast<double>(w.seqlen_k) * 4)});
    return c;
}

namespace {

std::string supports(const Workload& w, const Tile&, const Device& device) {
    return first_of({beyond_floats(w, device), beyond_memory(w, device)});
}

// What all three launches are made of.
struct Sizes {
    double rows, pairs, matrix;
    double element, d;
    double bytes_q, bytes_kv;
    // The matrix goes to DRAM and comes back only where the L2 cannot keep it.
    double spilled;
    double threads;
    bool wide;         // elements of 4 bytes: no conversions
    bool read_before;  // by another query: what a thread waits for is the L2, not DRAM
};

// Instructions and clocks of the loops as nvcc compiles them for sm_90, all unrolled 16 or 4 times
// (nvdisasm). Clocks are the compiler's stall counts and the latencies of arithmetic; the loads
// that a loop waits for are counted as waits.
struct Loop {
    double instructions, clocks;  // of one element of the innermost loop, one lane
};
constexpr Loop scores_loop(bool wide) {
    return wide ? Loop{58 / 16.0, 59 / 16.0} : Loop{88 / 16.0, 146 / 16.0};
}
constexpr Loop outputs_loop(bool wide) {
    return wide ? Loop{87 / 16.0, 85 / 16.0} : Loop{103 / 16.0, 162 / 16.0};
}
// Maximum, exponentials, division: sixteen keys with two waits, four with one, four with four.
constexpr Loop softmax_loops{37 / 16.0 + 57 / 4.0 + 71 / 4.0, 18 / 16.0 + 92 / 4.0 + 237 / 4.0};
constexpr double softmax_waits = 2 / 16.0 + 1 / 4.0 + 4 / 4.0;

Counts scores_launch(const Workload& w, const Sizes& z) {
    Counts c;
    c.launch = "scores";
    const double key_blocks = std::ceil(static_cast<double>(w.seqlen_k) / z.threads);
    c.work["flop.fma.fp32"] = 2 * z.pairs * z.d;
    c.work["op.issue"] = z.pairs * z.d * scores_loop(z.wide).instructions;
    c.work["byte.dram_read"] = z.bytes_q + z.bytes_kv / 2;
    c.work["byte.dram_write"] = z.spilled;
    // A row of Q meets every key of its head: K crosses the L2 once a query.
    c.work["byte.l2"] =
        z.pairs * z.d * z.element + z.rows * key_blocks * z.d * z.element + z.matrix;
    // 32 lanes read 32 rows of K: as many lines a load; Q's element is the same for all.
    c.work["byte.smem_lsu"] = z.pairs / 32 * z.d * (32 + 1) * pass_bytes;
    c.reread.push_back({z.pairs * z.d * z.element - z.bytes_kv / 2, z.bytes_kv / 2});
    c.ctas = static_cast<std::int64_t>(z.rows * key_blocks);
    c.bytes_in_flight = z.threads * 4 * z.element;
    const double ctas = std::max(1.0, static_cast<double>(c.ctas));
    // A thread waits once for each sector of its row of K; the sector's other elements are hits.
    const double sectors = z.d * z.element / 32;
    c.steps = {{"sectors", sectors, share_of(c, ctas, sectors),
                z.read_before ? "latency.l2" : "latency.dram",
                z.d / sectors * scores_loop(z.wide).clocks}};
    return c;
}

Counts softmax_launch(const Workload& w, const Sizes& z, const Device& device) {
    Counts c = softmax_work(w, device, z.rows, z.pairs, softmax_loops.instructions);
    c.ctas = static_cast<std::int64_t>(std::ceil(z.rows * 32 / z.threads));
    c.bytes_in_flight = z.threads * 4 * sizeof(float);
    const double ctas = std::max(1.0, static_cast<double>(c.ctas));
    const double keys = std::max(1.0, std::ceil(static_cast<double>(w.seqlen_k) / 32));  // a lane
    const double repeats = keys * softmax_waits;
    c.steps = {{"sweeps",
                repeats,
                {{"op.ex2", z.pairs / ctas / repeats},
                 {"op.issue", c.work["op.issue"] / ctas / repeats},
                 {"byte.l2", 5 * z.matrix / ctas / repeats}},
                "latency.l2",
                softmax_loops.clocks / softmax_waits}};
    return c;
}

Counts outputs_launch(const Workload& w, const Sizes& z) {
    Counts c;
    c.launch = "outputs";
    const double rows_per_cta = z.threads / z.d;
    c.work["flop.fma.fp32"] = 2 * z.pairs * z.d;
    c.work["op.issue"] = z.pairs * z.d * outputs_loop(z.wide).instructions;
    c.work["byte.dram_read"] = z.bytes_kv / 2 + z.spilled;
    c.work["byte.dram_write"] = w.bytes_out();
    // Rows of a CTA pass over V side by side and share its lines in the L1.
    const double v_bytes = z.pairs / rows_per_cta * z.d * z.element;
    c.work["byte.l2"] = v_bytes + z.matrix + w.bytes_out();
    // A warp's load of V and its one probability are a pass each.
    c.work["byte.smem_lsu"] = z.pairs * z.d / 32 * 2 * pass_bytes;
    c.reread.push_back({std::max(0.0, v_bytes - z.bytes_kv / 2), z.bytes_kv / 2});
    c.ctas = static_cast<std::int64_t>(std::ceil(z.rows * z.d / z.threads));
    c.bytes_in_flight = z.threads * 4 * z.element;
    const double ctas = std::max(1.0, static_cast<double>(c.ctas));
    // Four waits in the sixteen keys of the unrolled loop.
    const double repeats = std::max(1.0, std::ceil(static_cast<double>(w.seqlen_k) / 4));
    // Without keys every row does as little.
    c.imbalance = std::max(1.0, z.rows * static_cast<double>(w.seqlen_k) / std::max(z.pairs, 1.0));
    c.steps = {{"keys", repeats, share_of(c, ctas, repeats),
                z.read_before ? "latency.l2" : "latency.dram", 4 * outputs_loop(z.wide).clocks}};
    return c;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    Sizes z{};
    z.rows = static_cast<double>(w.tokens_q() * w.heads_q);
    z.pairs = w.visited_pairs() * static_cast<double>(w.heads_q);
    z.matrix = z.pairs * sizeof(float);
    z.element = bytes_of(w.dtype);
    z.d = static_cast<double>(w.headdim);
    z.bytes_q = w.bytes_q();
    z.bytes_kv = w.bytes_kv();
    z.spilled = z.matrix > static_cast<double>(device.l2_bytes) ? z.matrix : 0;
    z.threads = tile.threads;
    z.wide = w.dtype == DType::fp32;
    z.read_before = w.seqlen_q > 1;
    std::vector<Counts> launches{scores_launch(w, z), softmax_launch(w, z, device),
                                 outputs_launch(w, z)};
    constexpr std::array<int, 3> registers{30, 31, 32};  // as the compiler reports for sm_90
    for (std::size_t i = 0; i < launches.size(); ++i) {
        launches[i].threads = tile.threads;
        launches[i].registers = registers[i];
        launches[i].overlap = overlap_of("flop.fma.fp32");
    }
    return launches;
}

}  // namespace
}  // namespace raceline::kernels::naive

RACELINE_KERNEL(naive, record_of(rung, "three passes with the score matrix in global memory", tiles,
                                 {supports, counts, float_precision, matrix_bytes}))
