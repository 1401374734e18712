// SPDX-License-Identifier: Apache-2.0
// combine on a GPU: one pass over the parts, bound by memory.
#include <utility>
#include <vector>

#include "kernels/combine_cuda/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "registry/why_not.hpp"
#include "support/rounding.hpp"

namespace raceline::kernels::combine_cuda {
namespace {

std::int64_t rows_of(const Workload& w) {
    return w.extent("rows") * w.extent("heads");
}

// Of rows of no whole chunks, by SASS.
constexpr double slots_of_thread =
    counted(250, "places, the row's end, elements stored one by one");
constexpr double slots_of_piece = counted(8, "its place, whether it is there, its load");
constexpr double slots_of_part = counted(40, "weight, widened, added");

/// Bytes of a load: the largest of 16, 4 and 2 that rows consist of.
int piece_of(const Workload& w) {
    const std::int64_t row = w.extent("d") * static_cast<std::int64_t>(bytes_of(w.dtype));
    return row % 16 == 0 ? 16 : row % 4 == 0 ? 4 : 2;
}

std::int64_t chunks_of_row(const Workload& w) {
    return chunks_of(w.extent("d"), static_cast<std::int64_t>(bytes_of(w.dtype)));
}

std::int64_t ctas_of(const Workload& w, const Tile& tile) {
    const std::int64_t chunks = chunks_of_row(w);
    return divide_up(rows_of(w), tile.threads / lanes_of(chunks)) * segments_of(chunks);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    std::string reason = why_not_cuda(device);
    if (reason.empty() && rows_of(w) > most_rows) {
        reason = "it counts rows times heads in 31 bits";
    } else if (reason.empty() && ctas_of(w, tile) > most_rows) {
        reason = "it counts CTAs in 31 bits";
    }
    return reason;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const std::int64_t chunks = chunks_of_row(w);
    const int piece = piece_of(w);
    const auto threads = static_cast<double>(rows_of(w) * lanes_of(chunks) * segments_of(chunks));
    const auto parts = static_cast<double>(w.extent("parts"));
    const double elements = parts * static_cast<double>(rows_of(w) * w.extent("d"));
    Work work{{"flop.fma.fp32", 2 * elements}, {"op.ex2", parts * threads}};
    if (piece < 16) {
        const double pieces = 16.0 / piece;
        work["op.issue"] =
            threads * (slots_of_thread + (slots_of_part + slots_of_piece * pieces) * parts);
        // The path of L1: a warp's loads are this many chunks apart, and each takes all their
        // lines.
        work["byte.smem_lsu"] = pieces * w.bytes_read() + w.bytes_written();
    }
    const std::int64_t ctas = ctas_of(w, tile);
    Counts c = one_wave_pass(w, work, ctas, tile.threads);
    // Parts behind those that are loaded at once wait for these.
    const auto batches =
        static_cast<double>(divide_up(w.extent("parts"), static_cast<std::int64_t>(tile.at_once)));
    c.steps.front().repeat = batches;
    c.steps.front().work *= 1 / batches;
    c.registers = registers_of(tile.at_once);  // the launch bound
    c.bytes_in_flight = 16.0 * tile.threads * tile.at_once;
    return one_cold_launch(std::move(c), device,
                           residents(tile.at_once) * most_threads / tile.threads);
}

}  // namespace
}  // namespace raceline::kernels::combine_cuda

RACELINE_OPERATION_KERNEL(
    combine_cuda,
    record_of("combine",
              "partial results as one, on any GPU: one pass, 16 bytes of all parts at a time",
              Engine::cuda, tile_list, supports, counts))
