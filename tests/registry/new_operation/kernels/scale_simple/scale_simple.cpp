// SPDX-License-Identifier: Apache-2.0
// A plain loop: what a newcomer would write for the operation beside it.
#include <algorithm>
#include <array>
#include <vector>

#include "registry/kernel.hpp"
#include "workload/inputs.hpp"

namespace raceline::kernels::scale_simple {
namespace {

struct Tile {
    std::int32_t elements;  // a task
    static constexpr std::array<TileField, 1> fields{"elements"};
};
constexpr std::array tiles{Tile{64}, Tile{1024}};

std::string supports(const Workload&, const Tile&, const Device&) {
    return {};
}

std::vector<Counts> counts(const Workload& w, const Tile&, const Device&) {
    Counts c;
    c.launch = "main";
    c.work = {{"flop.fma.fp32", w.flops()},
              {"byte.dram_read", w.bytes_read()},
              {"byte.dram_write", w.bytes_written()}};
    c.steps = {{.name = "element", .repeat = 1, .work = c.work, .waits = {}}};
    return {c};
}

Precision precision(const Workload& w) {
    const Rounding stored = w.dtype == DType::bf16 ? Rounding::bf16 : Rounding::fp32;
    return {stored, Rounding::fp32, Rounding::fp32, Rounding::fp32, stored};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return 0;
}

const KernelRecord<Tile> record{.name = "scale_simple",
                                .summary = "a test's kernel",
                                .engine = Engine::cpu,
                                .tiles = std::span<const Tile>(tiles),
                                .functions = {supports, counts, precision, workspace},
                                .op = "scale"};
}  // namespace

void launch(const OperationArgs& args, int tile, const Device&, void*, void*) {
    const OperationTensor& x = args.tensors[0];
    const OperationTensor& y = args.tensors[1];
    const std::int64_t n = args.extents[0];
    const std::int64_t task = tiles.at(tile).elements;
    const double a = args.scalars[0];
    for (std::int64_t first = 0; first < n; first += task) {
        for (std::int64_t i = first; i < std::min(n, first + task); ++i) {
            const double value = load_element(static_cast<std::byte*>(x.data), x.dtype, i);
            store_element(static_cast<std::byte*>(y.data), y.dtype, i, a * value);
        }
    }
}

}  // namespace raceline::kernels::scale_simple

RACELINE_OPERATION_KERNEL(scale_simple, record)
