// SPDX-License-Identifier: Apache-2.0
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/from_scratch/warp/counts.hpp"

namespace raceline::kernels::warp {

using namespace from_scratch;

namespace {

// A load brings an element or sixteen bytes, of halves to be converted.
constexpr Code stage_code(double loads, double load, double element) {
    const double n = 50 + loads * (load < 16 ? 12 : element < 4 ? 29 : 14);
    return {n, 2 * n};
}
constexpr Code keys_code(double quads) {  // eight keys of the output, four columns a quad
    return {13 + 34 * quads, 30 + 29 + 36.8 * quads};
}
constexpr Code rest_code(double headdim, double rows, double staged) {
    const double n = 187 + 21.4 * rows + 0.07 * rows * headdim + staged;
    return {n, 3 * n};
}
constexpr double shuffles = 10 * 24;  // of a row; those of other rows lie beside them

}  // namespace

// Sixteen bytes of halves are 32 as floats, so that lanes store every other sixteen bytes, and
// eight of them meet in four banks: those stores take twice the passes.
std::vector<Counts> warp_counts(const Workload& w, const WarpRows& its) {
    const auto d = static_cast<double>(w.headdim);
    const double element = bytes_of(w.dtype);
    const double rows = its.rows;
    const double own = rows / warps;  // rows of a warp
    const double quads = rows * d / 4 / threads;
    const double loads = 2 * tile_keys * d * element / its.load / threads;  // loads a thread
    const double items_q = rows * d * element / its.load / threads;
    const double store_passes = its.load < 16 ? 1 : element < 4 ? 2 * 2 * quad_passes : quad_passes;
    Code stage = stage_code(loads, its.load, element);
    stage.clocks += shuffles;
    const Code rest = rest_code(d, rows, stage_code(items_q, its.load, element).instructions - 50);
    const std::vector<Step> steps{
        role("stage", 1, stage, threads, warps * loads * store_passes, {}),
        role("softmax", own, its.row, threads,
             warps * (d / 4 * (quad_passes + shared_quad_passes) + its.row_passes),
             {{"flop.fma.fp32", 2.0 * rows * tile_keys * d / own},
              {"op.ex2", 2.0 * rows * tile_keys / own}}),
        role("outputs", tile_keys / 8.0, keys_code(quads), threads,
             warps * (8 * quad_passes + 2 * quads * shared_quad_passes),
             {{"flop.fma.fp32", 2.0 * rows * 8 * d}})};
    return one_pass_counts(w, {.products = "flop.fma.fp32",
                               .rows = its.rows,
                               .threads = threads,
                               .registers = its.registers,
                               .smem_bytes = its.smem_bytes,
                               .tile = steps,
                               .once = role("rest", 1, rest, threads, 0, {})});
}

}  // namespace raceline::kernels::warp
