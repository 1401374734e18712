// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU by cuBLASLt: record and counts. The library's kernels are not ours to
// count: they are taken to be what is best for the matrix engine, in the largest tile that it has.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "kernels/linear_cublaslt/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::linear_cublaslt {
namespace {

std::string supports(const Workload& w, const Tile& /*tile*/, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs a CUDA device";
    }
    bool behind = false;
    Epilogue epilogue;
    for (const std::string_view step : steps_of(w.word("steps"))) {
        if (step == "linear" || step == "gemm") {
            behind = true;
        } else if (!behind) {
            return fmt::format("no kernel runs {} fused in front of a matrix product", step);
        } else if (!append(epilogue, find_row_step(step)->step)) {
            return fmt::format("cuBLASLt has no epilogue that ends with {} here", step);
        }
    }
    return {};
}

/// The engine of the device's best kernels for a type.
std::string engine_of(const Device& device, DType dtype) {
    if (dtype == DType::fp32) {
        return "flop.fma.fp32";
    }
    for (const char* engine : {"flop.tcgen05.", "flop.wgmma.", "flop.mma."}) {
        std::string id = engine;
        id += name_of(dtype);
        if (device.rates.contains(id)) {
            return id;
        }
    }
    return "flop.fma.fp32";
}

/// Looked up once: fields of a workload have names.
struct Sizes {
    std::int64_t m, n, k;
};
Sizes sizes_of(const Workload& w) {
    return {w.extent("m"), w.extent("n"), w.extent("k")};
}

struct Shape {
    std::int64_t rows, columns;  ///< of the result, of a CTA
};
// A CTA of the library's kernels for Hopper, of which one fits on an SM.
constexpr Constant threads = assumed("linear_cublaslt.threads", 384, "three warpgroups");
constexpr Constant registers =
    assumed("linear_cublaslt.registers", 168, "all that three warpgroups can have");
constexpr Constant stages = assumed("linear_cublaslt.stages", 4, "operands on their way");
constexpr Constant smem_bytes =
    assumed("linear_cublaslt.smem_bytes", 200e3, "as many stages of operands as fit");

// Code, descriptors and the choice among parts of k, before the first product of a cold call.
constexpr Constant fetches_of_library = calibrated(
    "linear_cublaslt.cold_fetches", 6,
    "products of up to 64 rows: h200-layer-decode at ac06d8aa1e88, which the rest of the "
    "model had 3.2 to 8.9 us too short, and the frozen operations of ebf4320",
    1, "the first line of code alone");

// Issue slots that an fp32 multiply-add takes with its share of loads and of the loop.
constexpr Constant slots_of_fma =
    assumed("linear_cublaslt.slots_of_fma", 1.08,
            "eight by eight results a thread: four loads beside 64 multiply-adds, and the loop");

/// Results of a CTA that libraries of products have kernels for.
constexpr std::array shapes{Shape{128, 256}, Shape{256, 128}, Shape{128, 128},
                            Shape{64, 256},  Shape{64, 128},  Shape{64, 64}};
constexpr std::int64_t columns_of_step = 64;  ///< of k, that a CTA loads at a time

std::int64_t tiles(const Sizes& s, const Shape& tile) {
    return (s.m + tile.rows - 1) / tile.rows * ((s.n + tile.columns - 1) / tile.columns);
}

std::int64_t splits_of(std::int64_t outputs, std::int64_t k, std::int64_t units) {
    // Where tiles are few, k is split among the units that are left.
    const std::int64_t steps = (k + columns_of_step - 1) / columns_of_step;
    return std::clamp<std::int64_t>(units / std::max<std::int64_t>(1, outputs), 1, steps);
}

/// Elements of both operands that the L2 gives to a CTA for one column of k. On Hopper the CTAs of
/// a cluster, two by two, share each operand that two of them need, by multicast, where the result
/// has two tiles that way. Assumed: a product on an H200 was faster than clusters of two allow.
double operands_of(const Sizes& s, const Shape& tile, const std::string& engine) {
    const auto rows = static_cast<double>(tile.rows);
    const auto columns = static_cast<double>(tile.columns);
    const bool shares = engine.starts_with("flop.wgmma.");
    const bool below = shares && s.m > tile.rows;
    const bool beside = shares && s.n > tile.columns;
    return rows / (beside ? 2 : 1) + columns / (below ? 2 : 1);
}

/// The one that ends first: as many waves of products, or of operands from L2, as it needs.
Shape shape_of(const Sizes& s, DType dtype, const Device& device, const std::string& engine) {
    const std::int64_t units = std::max(1, device.units);
    const double flops = device.find(engine).value_or(1) / static_cast<double>(units);
    const double bytes = device.find("byte.l2").value_or(0) / static_cast<double>(units);
    const auto seconds = [&](const Shape& tile) {
        const std::int64_t outputs = tiles(s, tile);
        const std::int64_t splits = splits_of(outputs, s.k, units);
        const auto k = static_cast<double>(s.k) / static_cast<double>(splits);
        const std::int64_t waves = (outputs * splits + units - 1) / units;
        const double products = 2 * static_cast<double>(tile.rows * tile.columns) * k / flops;
        const double operands =
            bytes > 0 ? operands_of(s, tile, engine) * k * bytes_of(dtype) / bytes : 0;
        return static_cast<double>(waves) * std::max(products, operands);
    };
    return *std::ranges::min_element(shapes, {}, seconds);
}

/// Elements that leave DRAM if each wave of CTAs is a block of the result, as square as it can be,
/// whose operands the last-level cache keeps while the wave lasts.
double elements_of_waves(const Sizes& s, const Shape& tile, std::int64_t outputs,
                         const Device& device) {
    const auto units = static_cast<double>(std::max(1, device.units));
    const auto m = static_cast<double>(s.m);
    const auto n = static_cast<double>(s.n);
    const double area = units * static_cast<double>(tile.rows * tile.columns);
    // No side of the block is longer than the result's.
    const double rows = std::min(m, std::max(std::sqrt(area), area / n));
    const double columns = std::min(n, area / rows);
    return std::ceil(static_cast<double>(outputs) / units) * (rows + columns) *
           static_cast<double>(s.k);
}

std::vector<Counts> counts(const Workload& w, const Tile& /*tile*/, const Device& device) {
    const Sizes s = sizes_of(w);
    const auto [m, n, k] = s;
    const double read = w.bytes_read();
    const double written = w.bytes_written();
    const std::string engine = engine_of(device, w.dtype);
    const Shape tile = shape_of(s, w.dtype, device, engine);
    const std::int64_t outputs = tiles(s, tile);
    const std::int64_t steps = (k + columns_of_step - 1) / columns_of_step;
    const std::int64_t splits = splits_of(outputs, k, std::max(1, device.units));
    const auto ctas = static_cast<double>(outputs * splits);
    const double bytes = bytes_of(w.dtype);
    const double padded = 2.0 * static_cast<double>(tile.rows * tile.columns * k);
    const double operands = operands_of(s, tile, engine) * static_cast<double>(k) * bytes *
                            static_cast<double>(outputs);
    Counts c;
    c.launch = "main";
    c.work[engine] = padded * static_cast<double>(outputs);
    if (engine == "flop.fma.fp32") {
        c.work["op.issue"] = slots_of_fma * padded / 2 * static_cast<double>(outputs);
    }
    c.work["byte.dram_read"] = read;
    c.work["byte.dram_write"] = written;
    c.work["byte.l2"] = operands + written;
    const double of_waves = elements_of_waves(s, tile, outputs, device) * bytes;
    c.reread = {{std::max(0.0, of_waves - read), static_cast<double>((m + n) * k) * bytes}};
    c.ctas = outputs * splits;
    c.threads = static_cast<int>(threads);
    c.registers = static_cast<int>(registers);
    c.smem_bytes = std::min(device.smem_bytes_per_cta, static_cast<std::int64_t>(smem_bytes));
    c.balanced_order = true;
    const double turns = std::ceil(static_cast<double>(steps) / static_cast<double>(splits));
    c.bytes_in_flight =
        stages * columns_of_step * bytes * static_cast<double>(tile.rows + tile.columns);
    Work rest = c.work * (1 / ctas);
    rest.erase("byte.dram_write");
    rest *= 1 / turns;
    c.steps.reserve(4);
    c.steps.push_back({"first operands", 1, {}, "latency.dram"});
    c.steps.push_back({"k", turns, std::move(rest), ""});
    c.steps.push_back({"result", 1, {{"byte.dram_write", written / ctas}}, ""});
    c.overlap = {{engine, "op.issue", "byte.dram_read", "byte.l2"}};
    add_cold_code(c, device, 1, fetches_of_library);
    return one_launch(std::move(c));
}

std::size_t workspace(const Workload& /*w*/, const Tile& /*tile*/, const Device& /*device*/) {
    return scratch_bytes;
}

const KernelRecord<Tile> record{
    .name = "linear_cublaslt",
    .summary = "matrix products with the library's epilogues, by cuBLASLt",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tile_list),
    .functions = {supports, counts, computed_in_fp32, workspace},
    .op = "linear"};

}  // namespace
}  // namespace raceline::kernels::linear_cublaslt

RACELINE_OPERATION_KERNEL(linear_cublaslt, record)
