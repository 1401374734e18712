// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU by cuBLASLt: record and counts. The library's kernels are not ours to
// count: they are taken to be what is best for the matrix engine, in the largest tile that it has.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>

#include "device/capability_text.hpp"
#include "kernels/linear_cublaslt/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "model/rates.hpp"
#include "registry/operation_kernel.hpp"
#include "registry/why_not.hpp"
#include "support/rounding.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::linear_cublaslt {
namespace {

/// Capabilities at which the library of CUDA 13 begins, as its documentation has it.
constexpr int least_capability = 75, least_of_bf16 = 80;

std::string supports(const Workload& w, const Tile& /*tile*/, const Device& device) {
    if (const std::string reason = why_not_cuda(device); !reason.empty()) {
        return reason;
    }
    const int capability = device.compute_capability;
    if (capability < least_capability) {
        return fmt::format("cuBLASLt of CUDA 13 needs compute capability {} or later, not {}",
                           capability_text(least_capability), capability_text(capability));
    }
    if (w.dtype == DType::bf16 && capability < least_of_bf16) {
        return fmt::format("cuBLASLt multiplies bf16 from compute capability {} on, not on {}",
                           capability_text(least_of_bf16), capability_text(capability));
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

// A CTA of the library's kernels for Hopper, of which one fits on an SM.
constexpr Constant threads = assumed("linear_cublaslt.threads", 384, "three warpgroups");
constexpr Constant registers =
    assumed("linear_cublaslt.registers", 168, "all that three warpgroups can have");
constexpr Constant smem_bytes =
    assumed("linear_cublaslt.smem_bytes", 220e3, "as many stages of operands as fit");

// Code, descriptors and the choice among parts of k, before the first product of a cold call.
constexpr Constant fetches_of_library = calibrated(
    "linear_cublaslt.cold_fetches", 6,
    "products of up to 64 rows: h200-layer-decode at ac06d8aa1e88, which the rest of the "
    "model had 3.2 to 8.9 us too short, and the frozen operations of ebf4320",
    1, "the first line of code alone");

// Of the library's fp32 kernels, 128 threads for 128 x 128 results, as a profiler counted them:
// receipts of operations:3793283560 on an H200.
constexpr double slots_of_fma = counted(1.135, "issue slots beside multiply-adds, 128x128x8");
constexpr double bytes_of_fma = counted(0.88, "shared memory, a multiply-add, 128x128x8");
constexpr double fp32_threads = counted(128, "the launch");
constexpr double fp32_registers = counted(255, "two CTAs an SM");

struct Shape {
    std::int64_t rows, columns;  ///< of the result, of a CTA
};
/// Results of a CTA that libraries of products have kernels for.
constexpr std::array usual{Shape{128, 256}, Shape{256, 128}, Shape{128, 128},
                           Shape{64, 256},  Shape{64, 128},  Shape{64, 64}};
constexpr std::int64_t columns_of_step = 64;  ///< of k, that a CTA loads at a time

// The library's kernels for Hopper say in their names what they are (nvjet_sm90_tst_192x208_64x4):
// 64 to 256 columns of the result, any multiple of 8 rows, and as many stages of 64 elements of k
// as shared memory holds.
constexpr std::int64_t rows_of_product = 8, columns_of_product = 64, most_stages = 16;
constexpr auto most_rows =
    static_cast<std::int64_t>(counted(272, "names of its kernels on an H200"));
// Registers of two warpgroups that add them up.
constexpr auto most_results =
    256 * static_cast<std::int64_t>(counted(156, "192x208 is the largest of its kernels' names"));
constexpr std::int64_t most_waves = 4;
// Of k, that a part has at least.
constexpr Constant columns_of_part =
    calibrated("linear_cublaslt.columns_of_part", 640,
               "between profiled grids on an H200, operations suites up to 5b6fd55: 4096 in six "
               "parts, 2048 in "
               "two, 1024 never split; two of these cases had been judged `tail`",
               64, "a part of one step");

std::int64_t tiles(const Sizes& s, const Shape& tile) {
    return divide_up(s.m, tile.rows) * divide_up(s.n, tile.columns);
}

std::int64_t splits_of(std::int64_t outputs, std::int64_t k, std::int64_t units) {
    // Where tiles are few, k is split among the units that are left, if that is worth another sum.
    const auto most = static_cast<std::int64_t>(static_cast<double>(k) / columns_of_part);
    return std::clamp<std::int64_t>(units / std::max<std::int64_t>(1, outputs), 1,
                                    std::max<std::int64_t>(1, most));
}

bool on_hopper(std::string_view engine) {
    return engine.starts_with("flop.wgmma.");
}

/// Elements of both operands that the L2 gives to a CTA for one column of k. On Hopper the CTAs of
/// a cluster share by multicast what they all need: two by two, or four in a row where the result
/// has but one tile the other way.
double operands_of(const Sizes& s, const Shape& tile, bool hopper) {
    constexpr std::int64_t in_cluster = 4;
    const auto shared_by = [&](std::int64_t along, std::int64_t across) {
        const std::int64_t most = across > 1 ? in_cluster / 2 : in_cluster;
        return static_cast<double>(hopper ? std::min(most, along) : 1);
    };
    const std::int64_t below = divide_up(s.m, tile.rows), beside = divide_up(s.n, tile.columns);
    return static_cast<double>(tile.rows) / shared_by(beside, below) +
           static_cast<double>(tile.columns) / shared_by(below, beside);
}

/// Elements that the matrix engine reads from shared memory for one column of k: each product of 64
/// columns takes these and all rows.
double elements_of_products(const Shape& tile) {
    return static_cast<double>(divide_up(tile.columns, columns_of_product) *
                               (columns_of_product + tile.rows));
}

/// What a tile is chosen by.
struct Chip {
    std::int64_t units;
    double flops, l2_bytes, smem_bytes;  ///< of one unit, a second
    double wait;                         ///< s, before a wave's first products
    bool hopper;
};

double chip_rate(const Device& device, std::string_view id) {
    return device.find(id).value_or(0) / std::max(1, device.units);
}

Chip chip_of(const Device& device, const std::string& engine) {
    return {std::max(1, device.units),
            chip_rate(device, engine),
            chip_rate(device, "byte.l2"),
            chip_rate(device, "byte.smem_mma"),
            loaded_seconds(device, "latency.dram"),
            on_hopper(engine)};
}

/// As many waves of products, or of operands, as the tile needs.
double seconds_of(const Sizes& s, const Shape& tile, double bytes, const Chip& chip) {
    const auto over = [](double amount, double rate) { return rate > 0 ? amount / rate : 0; };
    const std::int64_t outputs = tiles(s, tile);
    const std::int64_t splits = splits_of(outputs, s.k, chip.units);
    const auto k = static_cast<double>(s.k) / static_cast<double>(splits);
    const auto results = static_cast<double>(tile.rows * tile.columns);
    const double fed = chip.hopper ? elements_of_products(tile) * k * bytes : 0;
    const double sums = splits > 1 ? 2 * sizeof(float) * results : 0;
    return static_cast<double>(divide_up(outputs * splits, chip.units)) *
           (chip.wait +
            std::max({over(2 * results * k, chip.flops), over(fed, chip.smem_bytes),
                      over(operands_of(s, tile, chip.hopper) * k * bytes + sums, chip.l2_bytes)}));
}

/// The one that ends first. On Hopper as high as it takes to fill a number of waves.
Shape shape_of(const Sizes& s, DType dtype, const Chip& chip) {
    const double bytes = bytes_of(dtype);
    Shape best = usual.front();
    double least = 0;
    const auto consider = [&](const Shape& tile) {
        const double seconds = seconds_of(s, tile, bytes, chip);
        if (least == 0 || seconds < least) {
            best = tile;
            least = seconds;
        }
    };
    if (!chip.hopper) {
        for (const Shape& tile : usual) {
            consider(tile);
        }
        return best;
    }
    constexpr std::int64_t most_columns = 256;
    for (std::int64_t columns = columns_of_product; columns <= most_columns;
         columns += columns_of_product) {
        const std::int64_t beside = divide_up(s.n, columns);
        const std::int64_t most =
            std::min(most_rows, most_results / columns / rows_of_product * rows_of_product);
        std::int64_t last = 0;
        for (std::int64_t waves = 1; waves <= most_waves; ++waves) {
            const std::int64_t below = std::max<std::int64_t>(1, waves * chip.units / beside);
            const std::int64_t exact = divide_up(divide_up(s.m, below), rows_of_product);
            const std::int64_t rows = std::min(most, rows_of_product * exact);
            if (rows != last) {
                consider({rows, columns});
            }
            last = rows;
        }
    }
    return best;
}

// A CTA reads runs of 128 bytes, one in each of its operands' rows, and their neighbours in the
// next step. The longer the rows, the more of DRAM's time that takes: whole rows over runs, both
// as the probe's threads read them (order 1 in the log), since the library's own copies are bulk.
// That this is the quotient to take was decided with measured products at hand.
constexpr std::string_view by_products =
    "probed, and chosen among its quotients with measured products at hand "
    "(receipts/h200/logs/2026-11-28-dram-pieces.tsv)";
constexpr std::string_view of_bulk = "bulk copies, which reach DRAM's ceiling";
constexpr Constant in_short_rows =
    calibrated("linear_cublaslt.runs_in_1_KiB", 1.055, by_products, 1, of_bulk);
constexpr Constant in_rows =
    calibrated("linear_cublaslt.runs_in_4_KiB", 1.085, by_products, 1, of_bulk);
constexpr Constant in_long_rows =
    calibrated("linear_cublaslt.runs_in_16_KiB", 1.17, by_products, 1, of_bulk);

double time_of_runs(double bytes_of_row) {
    // Halfway between those that the probe read.
    constexpr double short_rows = counted(2048, "bytes"), rows = counted(8192, "bytes");
    return bytes_of_row <= short_rows ? in_short_rows
           : bytes_of_row <= rows     ? in_rows
                                      : in_long_rows;
}

/// Elements that leave DRAM if each wave of CTAs is a block of the result, as square as it can be,
/// whose operands the last-level cache keeps while the wave lasts.
double elements_of_waves(const Sizes& s, const Shape& tile, std::int64_t outputs,
                         const Device& device) {
    const auto units = static_cast<double>(std::max(1, device.units));
    const auto m = static_cast<double>(s.m);
    const auto n = static_cast<double>(s.n);
    // The result with what its last tiles have beyond it: no side of a block is longer.
    const auto whole_m = static_cast<double>(round_up(s.m, tile.rows));
    const auto whole_n = static_cast<double>(round_up(s.n, tile.columns));
    const double area = units * static_cast<double>(tile.rows * tile.columns);
    const double rows = std::min(whole_m, std::max(std::sqrt(area), area / whole_n));
    const double columns = std::min(whole_n, area / rows);
    const double waves = std::ceil(static_cast<double>(outputs) / units);
    // A row of blocks reads the weights once, and a column of them the inputs, even if the last
    // wave is not full.
    const double of_inputs = std::min(waves * rows, m * std::ceil(n / columns));
    const double of_weights = std::min(waves * columns, n * std::ceil(m / rows));
    return (of_inputs + of_weights) * static_cast<double>(s.k);
}

std::vector<Counts> counts(const Workload& w, const Tile& /*tile*/, const Device& device) {
    const Sizes s = sizes_of(w);
    const auto [m, n, k] = s;
    const double read = w.bytes_read();
    const double written = w.bytes_written();
    const std::string engine = engine_of(device, w.dtype);
    const Chip chip = chip_of(device, engine);
    const Shape tile = shape_of(s, w.dtype, chip);
    const std::int64_t outputs = tiles(s, tile);
    const std::int64_t steps = divide_up(k, columns_of_step);
    const std::int64_t splits = splits_of(outputs, k, chip.units);
    const auto ctas = static_cast<double>(outputs * splits);
    const double bytes = bytes_of(w.dtype);
    const double padded = 2.0 * static_cast<double>(tile.rows * tile.columns * k);
    const double columns_of_k = static_cast<double>(k * outputs) * bytes;
    Counts c;
    c.launch = "main";
    c.work[engine] = padded * static_cast<double>(outputs);
    if (engine == "flop.fma.fp32") {
        const double products = padded / 2 * static_cast<double>(outputs);
        c.work["op.issue"] = slots_of_fma * products;
        c.work["byte.smem_lsu"] = bytes_of_fma * products;
    }
    c.work["byte.dram_read"] = read;
    c.work["byte.dram_write"] = written;
    c.work["byte.l2"] = operands_of(s, tile, chip.hopper) * columns_of_k + written;
    if (chip.hopper) {
        c.work["byte.smem_mma"] = elements_of_products(tile) * columns_of_k;
    }
    const double of_waves = elements_of_waves(s, tile, outputs, device) * bytes;
    c.reread = {{std::max(0.0, of_waves - read), static_cast<double>((m + n) * k) * bytes}};
    if (chip.hopper) {
        // Not more bytes, but the time of more: no cache helps.
        c.reread.push_back({read * (time_of_runs(static_cast<double>(k) * bytes) - 1),
                            std::numeric_limits<double>::infinity()});
    }
    c.ctas = outputs * splits;
    const bool lanes = engine == "flop.fma.fp32";
    c.threads = static_cast<int>(lanes ? fp32_threads : threads);
    c.registers = static_cast<int>(lanes ? fp32_registers : registers);
    c.smem_bytes = std::min(device.smem_bytes_per_cta, static_cast<std::int64_t>(smem_bytes));
    c.balanced_order = true;
    const double turns = std::ceil(static_cast<double>(steps) / static_cast<double>(splits));
    const double stage = columns_of_step * bytes * static_cast<double>(tile.rows + tile.columns);
    c.bytes_in_flight =
        stage * std::clamp(std::floor(smem_bytes / stage), 2.0, static_cast<double>(most_stages));
    Work rest = c.work * (1 / ctas);
    rest.erase("byte.dram_write");
    rest *= 1 / turns;
    c.steps.reserve(4);
    c.steps.push_back({"first operands", 1, {}, "latency.dram"});
    c.steps.push_back({"k", turns, std::move(rest), ""});
    c.steps.push_back({"result", 1, {{"byte.dram_write", written / ctas}}, ""});
    c.overlap = {
        {engine, "op.issue", "byte.dram_read", "byte.l2", "byte.smem_mma", "byte.smem_lsu"}};
    return one_cold_launch(std::move(c), device, 1, fetches_of_library);
}

std::size_t workspace(const Workload& /*w*/, const Tile& /*tile*/, const Device& /*device*/) {
    return scratch_bytes;
}

}  // namespace
}  // namespace raceline::kernels::linear_cublaslt

RACELINE_OPERATION_KERNEL(linear_cublaslt,
                          record_of("linear",
                                    "matrix products with the library's epilogues, by cuBLASLt",
                                    Engine::cuda, tile_list, supports, counts, workspace))
