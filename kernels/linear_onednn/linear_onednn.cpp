// SPDX-License-Identifier: Apache-2.0
// Matrix products on a CPU by oneDNN: record and counts.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "kernels/linear_onednn/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "model/simd_functions.hpp"
#include "registry/operation_kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::linear_onednn {
namespace {

/// Steps before the product, and the product with those behind it.
struct Chain {
    std::vector<std::string_view> before;
    Product product;
};
Chain chain_of(const Workload& w) {
    Chain chain{{}, {w.extent("m"), w.extent("n"), w.extent("k"), w.dtype, false, {}}};
    bool behind = false;
    for (const std::string_view step : steps_of(w.word("steps"))) {
        if (step == "linear" || step == "gemm") {
            chain.product.by_rows = step == "linear";
            behind = true;
        } else if (behind) {
            chain.product.after.push_back(find_row_step(step)->step);
        } else {
            chain.before.push_back(step);
        }
    }
    return chain;
}

bool has_bf16(const Device& device) {
    return device.simd_bits == 512;
}

std::string supports(const Workload& w, const Tile& /*tile*/, const Device& device) {
    if (device.kind != DeviceKind::cpu) {
        return "it runs on CPUs";
    }
    const Chain chain = chain_of(w);
    if (!chain.before.empty()) {
        return fmt::format("no kernel runs {} fused in front of a matrix product",
                           chain.before.back());
    }
    for (const RowStep step : chain.product.after) {
        if (step == RowStep::relu) {
            return "oneDNN's relu makes 0 of NaN";
        }
        if (form_of(step).reductions > 0) {
            return fmt::format("{} needs whole rows of the product, which no tile has",
                               form_of(step).name);
        }
    }
    if (w.dtype == DType::fp16 || (w.dtype == DType::bf16 && !has_bf16(device))) {
        return fmt::format("oneDNN 2 multiplies no {} on this CPU", name_of(w.dtype));
    }
    return device.live ? why_not_loaded() : "";
}

/// Plain lane operations of a step behind the product on one element. The library's code is taken
/// to be as long as rows_cpu's.
double slots_of(RowStep step, DType dtype) {
    switch (step) {
        case RowStep::gelu: return gelu_slots();
        case RowStep::silu:
        case RowStep::sigmoid: return sigmoid_slots();
        case RowStep::tanh: return tanh_slots();
        case RowStep::exp: return exp_slots();
        case RowStep::square: return 1;
        default: return 1 + (dtype == DType::fp32 ? 0 : counted(1, "operand widened, shifted"));
    }
}

/// A core computes the steps on what a tile's products left: after these, and not beside them.
void add_steps(const Workload& w, const Product& product, Counts& c) {
    double slots = 0;
    for (const RowStep step : product.after) {
        slots += slots_of(step, w.dtype);
    }
    if (slots > 0) {
        const Work steps{
            {"op.simd", slots * static_cast<double>(product.m) * static_cast<double>(product.n)}};
        c.work += steps;
        c.steps.front().work += steps * (1 / static_cast<double>(c.ctas));
        c.overlap.push_back({"op.simd"});
    }
}

std::vector<Counts> counts(const Workload& w, const Tile& /*tile*/, const Device& device) {
    const std::string engine = w.dtype != DType::bf16  ? "flop.fma.fp32"
                               : device.has_bf16_tiles ? "flop.amx.bf16"
                               : device.has_bf16_dot   ? "flop.dot.bf16"
                                                       : "flop.fma.fp32";
    const auto m = static_cast<double>(w.extent("m"));
    const auto n = static_cast<double>(w.extent("n"));
    const auto k = static_cast<double>(w.extent("k"));
    Work work{{engine, 2 * m * n * k}};
    const auto tasks = std::max<std::int64_t>(1, device.units);
    std::vector<Counts> launches{one_pass(w, "product", std::move(work), tasks, false)};
    add_steps(w, chain_of(w).product, launches.front());
    return launches;
}

std::size_t workspace(const Workload& w, const Tile& /*tile*/, const Device& device) {
    return device.live ? scratch_bytes(chain_of(w).product) : 0;
}

}  // namespace
}  // namespace raceline::kernels::linear_onednn

RACELINE_OPERATION_KERNEL(linear_onednn,
                          record_of("linear",
                                    "matrix products with elementwise steps behind them, by oneDNN",
                                    Engine::cpu, tile_list, supports, counts, workspace))
