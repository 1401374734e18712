// SPDX-License-Identifier: Apache-2.0
// combine on a GPU: one pass over the parts, bound by memory.
#include <algorithm>
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

constexpr double slots_of_thread = counted(250, "by SASS: places, the row's end, its stores");
/// A part of it: the mean of both numbers of parts at a time.
double slots_of_part(const Workload& w, int piece) {
    const bool fp32 = w.dtype == DType::fp32;
    switch (piece) {
        case 16: return fp32 ? counted(25, "by SASS") : counted(42, "by SASS");
        case 4: return fp32 ? counted(44, "by SASS") : counted(55, "by SASS");
        default: return counted(75, "by SASS");
    }
}

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
    work["op.issue"] = threads * (slots_of_thread + slots_of_part(w, piece) * parts);
    if (piece < 16) {
        // Lanes of a warp are a chunk apart, so that each of its loads, and of its stores of one
        // element, takes all lines of its chunks from L1, and a store all their sectors from L2.
        const double stores = 16.0 / bytes_of(w.dtype);
        work["byte.smem_lsu"] = 16.0 / piece * w.bytes_read() + stores * w.bytes_written();
        work["byte.l2"] = (stores - 1) * w.bytes_written();
    }
    const std::int64_t ctas = ctas_of(w, tile);
    Counts c = one_wave_pass(w, work, ctas, tile.threads);
    // Parts behind those that are loaded at once wait for these.
    const auto batches =
        static_cast<double>(divide_up(w.extent("parts"), static_cast<std::int64_t>(tile.at_once)));
    c.steps.front().repeat = batches;
    c.steps.front().work *= 1 / batches;
    c.registers = registers_of(tile.at_once, piece);  // the launch bound
    c.bytes_in_flight = 16.0 * tile.threads * std::min(parts, tile.at_once + 0.0);
    return one_cold_launch(std::move(c), device,
                           residents(tile.at_once, piece) * most_threads / tile.threads);
}

}  // namespace
}  // namespace raceline::kernels::combine_cuda

RACELINE_OPERATION_KERNEL(
    combine_cuda,
    record_of("combine",
              "partial results as one, on any GPU: one pass, 16 bytes of several parts at a time",
              Engine::cuda, tile_list, supports, counts))
