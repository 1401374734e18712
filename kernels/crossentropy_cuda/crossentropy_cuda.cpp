// SPDX-License-Identifier: Apache-2.0
// Cross-entropy on a GPU: record and counts.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/crossentropy_cuda/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "registry/why_not.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::crossentropy_cuda {
namespace {

constexpr Constant dependent =
    manual("crossentropy_cuda.dependent", 4,
           "arXiv 1804.06826 and 2402.13499: clocks from an fp32 instruction to one that needs it");
constexpr Constant exponential = assumed("crossentropy_cuda.exponential", 18,
                                         "clocks of a special function: no source for Hopper");

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    const std::string reason = why_not_cuda(device);
    return !reason.empty() || ctas_of(w.extent(grid_rows), tile) <= most_ctas
               ? reason
               : "it counts CTAs in 31 bits";
}

/// Thread-level instructions of a turn of the loop, by the compiler's PTX without its moves.
double slots_of_turn(const Workload& w, double elements) {
    return elements * (w.dtype == DType::fp32
                           ? counted(11, "compared, less, expf, added")
                           : counted(6, "widened, compared, less, product, ex2, added")) +
           counted(52, "addresses, loads, maxima together, sums together, loop");
}

// Of a thread whose row has no turn for it, by SASS.
constexpr double slots_of_thread =
    counted(220, "its row, the last turn, sums of 32 lanes, results");
constexpr double slots_of_exchange = counted(80, "sums of warps, in one of them");
constexpr double exchanges_of_warp = counted(0.5, "one of two, and no barrier");
constexpr double exponentials_of_sums = counted(10, "two for each halving of 32 lanes");

/// Clocks of a warp alone for a turn: its instructions one after the other; and what waits for the
/// one before: comparisons and additions, each in four chains that are then brought together.
double clocks_of_turn(const Workload& w, double elements) {
    constexpr double chains = counted(4, "maxima, and sums");
    constexpr double together = counted(3, "of four chains, one after the other");
    return slots_of_turn(w, elements) + 2 * (elements / chains + together) * dependent +
           exponential;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const auto rows = static_cast<double>(w.extent(grid_rows));
    const auto width = static_cast<double>(w.extent(grid_width));
    const double per_chunk = 16 / bytes_of(w.dtype);
    const double turns = std::ceil(width / per_chunk / tile.threads / tile.at_once);
    const double elements = tile.at_once * per_chunk;
    const bool by_warps = tile.threads == 32;
    const double slots = width / elements * slots_of_turn(w, elements) +
                         tile.threads * slots_of_thread + (by_warps ? 0 : 32 * slots_of_exchange);
    const double exponentials = width + tile.threads * exponentials_of_sums;
    const Work work{{"op.issue", rows * slots}, {"op.ex2", rows * exponentials}};
    const int of_cta = threads_of_cta(tile.threads);
    Counts c = one_wave_pass(w, work, ctas_of(w.extent(grid_rows), tile), of_cta);
    c.registers = registers;  // the launch bound
    c.smem_bytes = by_warps ? 0 : std::int64_t{2} * 32 * static_cast<std::int64_t>(sizeof(float));
    c.bytes_in_flight = std::min(16.0 * of_cta * tile.at_once,
                                 c.work["byte.dram_read"] / static_cast<double>(c.ctas));
    // Each turn of the loop waits for its loads, and then goes over what has come.
    c.steps.front().repeat = turns;
    c.steps.front().clocks = clocks_of_turn(w, elements);
    c.steps.front().work *= 1 / turns;
    // What is left of a row's first and last chunk, unless all rows are whole chunks: one load of
    // the last warp, whose neighbours were read before.
    if (w.extent(grid_width) % static_cast<std::int64_t>(per_chunk) != 0) {
        c.steps.push_back({"ends of a row", 1, {}, "latency.l2"});
    }
    // Exchanges of 32 lanes, a barrier, and again: about as long as L2 takes to answer. Then one
    // lane reads the logit of the target, which was read before.
    c.steps.push_back({"sums", by_warps ? exchanges_of_warp : 1, {}, "latency.l2"});
    c.steps.push_back({"target's logit", 1, {}, "latency.l2"});
    return one_cold_launch(std::move(c), device, resident_threads / of_cta);
}

}  // namespace
}  // namespace raceline::kernels::crossentropy_cuda

RACELINE_OPERATION_KERNEL(crossentropy_cuda,
                          record_of("crossentropy",
                                    "cross-entropy in one pass over the logits, on any GPU",
                                    Engine::cuda, tile_list, supports, counts))
