// SPDX-License-Identifier: Apache-2.0
// combine on a GPU: one pass over the parts, bound by memory.
#include <utility>
#include <vector>

#include "kernels/combine_cuda/tile.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "registry/why_not.hpp"
#include "support/rounding.hpp"

namespace raceline::kernels::combine_cuda {
namespace {

std::int64_t rows_of(const Workload& w) {
    return w.extent("rows") * w.extent("heads");
}

std::string supports(const Workload& w, const Tile& /*tile*/, const Device& device) {
    const std::string reason = why_not_cuda(device);
    return !reason.empty() || rows_of(w) <= most_rows ? reason
                                                      : "it counts rows times heads in 31 bits";
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const auto bytes = static_cast<std::int64_t>(bytes_of(w.dtype));
    const std::int64_t chunks = chunks_of(w.extent("d"), bytes);
    const std::int64_t rows_of_cta = tile.threads / lanes_of(chunks);
    const auto threads = static_cast<double>(rows_of(w) * lanes_of(chunks));
    const auto parts = static_cast<double>(w.extent("parts"));
    const double elements = parts * static_cast<double>(rows_of(w) * w.extent("d"));
    const Work work{{"flop.fma.fp32", 2 * elements}, {"op.ex2", parts * threads}};
    Counts c = one_wave_pass(w, work, divide_up(rows_of(w), rows_of_cta), tile.threads);
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
