// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/simt/instructions.hpp"
#include "kernels/simt/plan.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::simt {
namespace {

// A shared-memory access of a warp takes at least one pass of 32 banks of 4 bytes, with 16 bytes a
// lane four: 512 bytes go to registers, and the probe of shared memory sees 128 of them a clock.
// Where neighbouring lanes read the same, as those of a row group do of Q and P, one pass fills two
// registers (forums.developer.nvidia.com/t/77228, said of compute capability 7). Lanes that share a
// key are eight apart, which saves nothing.
constexpr double pass_bytes = 128;
constexpr double quad_passes = 4;
constexpr double shared_quad_passes = 2;

// Code that every warp runs, as work of the CTA.
void add_code(Step& step, const Body& b, Code code) {
    step.work["op.issue"] += code.instructions * b.tile.threads;
    step.clocks += code.clocks;
}

// Loads of one batch are in flight together; the next batch waits for them.
Step staging(const Body& b, double key_tiles) {
    const auto padded = static_cast<double>(b.plan.depth + (b.plan.shared_kv ? 0 : b.plan.v_width));
    const double chunks = b.tile.keys * padded * b.element / 16 / b.tile.threads;  // of a thread
    const auto splits_in_16 = [&](std::int64_t columns) {
        return std::fmod(static_cast<double>(columns) * b.element, 16) == 0;
    };
    const bool pieces = splits_in_16(b.w.headdim) && splits_in_16(b.w.headdim_v);
    const double heads = b.plan.shared_kv ? 1 : 2;
    const double each = pieces ? load_batch(b.tile, b.plan.v_width) : 4;
    const double items = pieces ? chunks : b.tile.keys * padded / b.tile.threads;
    const double batches = heads * std::ceil(items / heads / each);  // K and V by themselves
    Step step;
    step.name = "stage";
    step.repeat = batches * key_tiles;
    const Code one =
        pieces ? load_chunk(b.w.page_size > 0) + store_chunk(b.element) : element_staged;
    add_code(step, b, items / batches * one + batch_end + heads / batches * stage_head);
    const double passes = pieces ? store_chunk_passes(b.element) : 1;
    step.work["byte.smem_lsu"] = items / batches * b.warps * passes * pass_bytes;
    step.work["byte.l2"] = b.tile.keys * b.row_bytes / batches;
    // Keys that another row tile reads as well are mostly in the L2 already.
    step.waits = b.plan.row_tiles > 1 ? "latency.l2" : "latency.dram";
    return step;
}

Step scoring(const Body& b, double key_tiles) {
    Step step;
    step.name = "scores";
    step.repeat = key_tiles;
    const double pairs = b.plan.depth / 8.0;
    add_code(step, b,
             tile_head + pairs * score_pair(b.tile.rows_per_lane(), b.tile.keys_per_lane()));
    step.work["flop.fma.fp32"] = 2.0 * b.tile.rows * b.tile.keys * b.plan.depth;
    step.work["byte.smem_lsu"] =
        b.warps * 2 * pairs *
        (b.lane_rows * shared_quad_passes + b.tile.keys_per_lane() * quad_passes) * pass_bytes;
    return step;
}

Step softmax(const Body& b, double key_tiles) {
    Step step;
    step.name = "softmax";
    step.repeat = key_tiles;
    add_code(
        step, b,
        b.lane_rows * softmax_row(b.tile.keys_per_lane(), b.plan.v_width / 32, b.w.softcap > 0));
    // One exponential a score, one a row and lane to rescale; tanh is an exponential and a
    // division.
    step.work["op.ex2"] =
        b.tile.rows * b.tile.keys *
            (b.w.softcap > 0 ? counted(3, "exp, and an exponential and a division of tanh") : 1.0) +
        b.tile.rows * 8.0 * b.tile.key_warps;
    step.work["byte.smem_lsu"] = b.warps * b.lane_rows * b.tile.keys_per_lane() * pass_bytes;
    return step;
}

Step accumulating(const Body& b, double key_tiles) {
    Step step;
    step.name = "outputs";
    step.repeat = key_tiles;
    const double loops = b.tile.keys_per_warp() / 4.0;
    add_code(step, b, loops * accumulate_quad(b.tile.rows_per_lane(), b.plan.v_width / 32));
    step.work["flop.fma.fp32"] = 2.0 * b.tile.rows * b.tile.keys * b.plan.v_width;
    step.work["byte.smem_lsu"] = b.warps * loops *
                                 (b.lane_rows * shared_quad_passes + 4 * b.quads * quad_passes) *
                                 pass_bytes;
    return step;
}

// Before the first tile: who am I, Q into shared memory.
Step starting(const Body& b, double bytes) {
    const double element = bytes_of(b.w.dtype);
    const double chunks = std::ceil(b.tile.rows * b.plan.depth * element / 16 / b.tile.threads);
    Step step;
    step.name = "setup";
    step.work["byte.l2"] = bytes;
    add_code(step, b,
             start(b.tile.rows_per_lane()) + chunks * (load_query_chunk + store_chunk(element)));
    step.waits = "latency.dram";
    return step;
}

// After the last one: the warps' outputs meet in shared memory.
Step finishing(const Body& b, double bytes) {
    const double quads = std::ceil(b.tile.rows * b.plan.v_width / 4.0 / b.tile.threads);
    Step step;
    step.name = "finish";
    add_code(
        step, b,
        gathered(b.tile.rows_per_lane()) + quads * write_quad(b.tile.key_warps, b.plan.splits > 1));
    step.work["byte.smem_lsu"] =
        2.0 * b.tile.key_warps * b.tile.rows * b.plan.v_width * sizeof(float);
    step.work["byte.l2"] = bytes;
    return step;
}

}  // namespace

Body body_of(const Workload& w, const Plan& plan, const Tile& tile) {
    double columns = static_cast<double>(w.headdim);
    // MLA whose V cannot share K's tile in shared memory is read twice.
    columns += plan.shared_kv ? 0 : static_cast<double>(w.headdim_v);
    return {w,
            plan,
            tile,
            tile.threads / 32.0,
            static_cast<double>(tile.rows_per_lane()),
            plan.v_width / 32.0,
            bytes_of(w.kv_dtype),
            columns * bytes_of(w.kv_dtype)};
}

std::vector<Step> steps_of(const Body& b, double key_tiles, double out_bytes) {
    return {starting(b, b.tile.rows * static_cast<double>(b.w.headdim) * bytes_of(b.w.dtype)),
            staging(b, key_tiles),
            scoring(b, key_tiles),
            softmax(b, key_tiles),
            accumulating(b, key_tiles),
            finishing(b, out_bytes)};
}

}  // namespace raceline::kernels::simt
