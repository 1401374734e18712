// SPDX-License-Identifier: Apache-2.0
// Chains of rows on a GPU: record, and which of them it serves.
#include <bit>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "kernels/rows_cuda/counts.hpp"
#include "registry/operation_kernel.hpp"
#include "schedule/plan.hpp"
#include "workload/compiled_chains.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::rows_cuda {

RowProgram program_of(const Workload& w) {
    const std::vector<std::string_view> names = steps_of(w.word("steps"));
    std::vector<RowStep> chain;
    chain.reserve(names.size());
    for (const std::string_view name : names) {
        chain.push_back(find_row_step(name)->step);
    }
    return row_program(chain);
}

bool is_whole(const RowProgram& program, const Workload& w) {
    return has_whole_chunks(program, w.extent(grid_rows), w.extent(grid_width), element_bytes(w));
}

bool is_compiled(const RowProgram& program, const Workload& w) {
    return compiled_index(program) < compiled_programs.size() && is_whole(program, w);
}

namespace {

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs a CUDA device";
    }
    const RowProgram program = program_of(w);
    const auto d = static_cast<std::uint64_t>(w.extent("d"));
    const std::uint64_t chunk = 16 / static_cast<std::uint64_t>(element_bytes(w));
    if (has_rope(program) && !(std::has_single_bit(d) && d >= 2 * chunk && d <= 32 * chunk)) {
        return fmt::format(
            "its rope turns heads of a power of two from {} to {} columns in {}, not of {}",
            2 * chunk, 32 * chunk, name_of(w.dtype), d);
    }
    // Of any tile: a CTA has one chunk a thread.
    const double elements =
        static_cast<double>(w.extent(grid_rows)) * static_cast<double>(w.extent(grid_width));
    if (!knows_rows(program) &&
        elements > static_cast<double>(flat_threads) * static_cast<double>(chunk) * most_ctas) {
        return "it counts CTAs in 31 bits";
    }
    if (!knows_rows(program) && !(is_flat(tile) && tile.chunks == 1)) {
        return "its elements do not know their row: CTAs of 256 threads take them as they lie, a "
               "chunk each";
    }
    if (is_staged(tile)) {
        return !knows_rows(program) || is_whole(program, w) || has_rope(program)
                   ? "a thread holds rows that begin inside of 16 bytes, of steps that need to "
                     "know their row and turn no heads"
               : w.extent(grid_width) > held_by(tile, element_bytes(w))
                   ? fmt::format("a row of {} is wider than the {} elements that a thread holds",
                                 w.extent(grid_width), held_by(tile, element_bytes(w)))
               : ctas_of(layout_of(program, w.extent(grid_rows), w.extent(grid_width), tile,
                                   element_bytes(w)),
                         tile) > most_ctas
                   ? "it counts CTAs in 31 bits"
                   : "";
    }
    if (is_longest(tile) && !(is_compiled(program, w) && has_code(program, w.dtype, tile))) {
        return "rows of eight chunks a thread are those of a known chain in fp32 that reduces one "
               "matrix";
    }
    if (deals_out_segments(program) && is_compiled(program, w) &&
        !has_code(program, w.dtype, tile)) {
        return is_narrow(tile)
                   ? "rows of known chains that reduce nothing lie in half a warp or more"
                   : "a thread takes at most two chunks of rows whose elements know no "
                     "other one";
    }
    if (!is_compiled(program, w) && !reads_any_chain(tile)) {
        return "its threads have registers for rows of known chains alone";
    }
    if (knows_rows(program) && !is_whole(program, w) &&
        !steps_through_rows(tile, Access::shifted)) {
        return "rows that begin inside a chunk have no code in it";
    }
    if (has_rope(program) && d > static_cast<std::uint64_t>(tile.lanes) * chunk) {
        return fmt::format("heads of {} columns lie in more lanes than the {} of a row", d,
                           tile.lanes);
    }
    const std::int64_t held = held_by(tile, element_bytes(w));
    if (has_reductions(program) && w.extent(grid_width) > held && !reads_wide_rows(tile)) {
        return fmt::format("a row of {} is wider than the {} elements that its threads hold",
                           w.extent(grid_width), held);
    }
    const RowLayout layout =
        layout_of(program, w.extent(grid_rows), w.extent(grid_width), tile, element_bytes(w));
    const bool fits = ctas_of(layout, tile) <= most_ctas &&
                      (!deals_out_segments(program) || layout.rows * layout.segments <= most_ctas);
    return fits ? "" : "it counts CTAs in 31 bits";
}

/// For the counter of rows that are handed out to clusters.
std::size_t workspace(const Workload& /*w*/, const Tile& tile, const Device& /*device*/) {
    return reads_wide_rows(tile) ? schedule::workspace_bytes : 0;
}

}  // namespace
}  // namespace raceline::kernels::rows_cuda

RACELINE_OPERATION_KERNEL(
    rows_cuda,
    record_of("rows",
              "chains of elementwise steps, norms, softmax and rope in one pass, on any GPU",
              Engine::cuda, tile_list, supports, counts, workspace))
