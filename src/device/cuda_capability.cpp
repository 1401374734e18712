// SPDX-License-Identifier: Apache-2.0
// Rates of GPUs that have no file in devices/, from their compute capability.
#include <algorithm>
#include <iterator>
#include <string>

#include "device/cuda_device.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// Per clock and SM. FMA columns: CUDA C++ Programming Guide, arithmetic throughput, results x 2.
// Matrix columns: dense bf16/fp16 with fp32 accumulation as in the architecture whitepapers named
// in devices/ (v100, t4, a100, a10, l4, h100-sxm, b200, rtx5090); 0: no such engine.
struct Capability {
    int capability;
    double fma_fp32, fma_fp64, fma_fp16, ex2;
    double mma, wgmma, tcgen05;
    bool has_bf16, has_fp8;
    double l2_bytes;  // of the whole cache; 0: by memory controllers; below 0: of each SM
};
constexpr Capability table[] = {
    {50, 256, 8, 0, 32, 0, 0, 0, false, false, 0},
    {60, 128, 64, 256, 16, 0, 0, 0, false, false, 0},
    {61, 256, 8, 0, 32, 0, 0, 0, false, false, 0},
    {70, 128, 64, 256, 16, 1024, 0, 0, false, false, 2048},
    {75, 128, 4, 256, 16, 1024, 0, 0, false, false, 0},
    {80, 128, 64, 512, 16, 2048, 0, 0, true, false, 5120},
    {86, 256, 4, 256, 16, 1024, 0, 0, true, false, 0},
    {89, 256, 4, 256, 16, 1024, 0, 0, true, true, 0},
    {90, 256, 128, 512, 16, 0.629 * 4096, 4096, 0, true, true, 5120},
    {100, 256, 128, 512, 16, 0.629 * 4096, 0, 8192, true, true, -64},
    {103, 256, 4, 512, 32, 0.629 * 4096, 0, 8192, true, true, -64},
    {120, 256, 4, 256, 16, 1024, 0, 0, true, true, 0},
};

// devices/rtx4090.json: 1622.2 byte a clock through twelve 32-bit controllers.
constexpr double l2_bytes_per_controller = 1622.2 / 12;

const Capability& row_of(int capability) {
    const Capability* after =
        std::upper_bound(std::begin(table), std::end(table), capability,
                         [](int value, const Capability& row) { return value < row.capability; });
    return after == std::begin(table) ? *after : *(after - 1);
}

struct Filler {
    Device& device;
    std::string source;

    void unit(const std::string& id, double per_clock, const std::string& note = {}) const {
        if (per_clock > 0 && device.clock_hz > 0) {
            device.rates[id] = {device.units * per_clock * device.clock_hz, source, device.clock_hz,
                                note, per_clock};
        }
    }

    void engine(const std::string& name, double per_clock, const Capability& row,
                double fp8_per_clock) const {
        const std::string note = "dense, fp32 accumulator";
        unit("flop." + name + ".fp16", per_clock, note);
        if (row.has_bf16) {
            unit("flop." + name + ".bf16", per_clock, note);
            unit("flop." + name + ".tf32", per_clock / 2, note);
        }
        if (row.has_fp8) {
            unit("flop." + name + ".e4m3", fp8_per_clock, note);
        }
    }
};

}  // namespace

void fill_capability_rates(Device& device, const CudaProperties& properties) {
    const Capability& row = row_of(properties.capability);
    const std::string source =
        fmt::format("datasheet: derived from SMs, clocks and the rates of compute capability {}.{}",
                    row.capability / 10, row.capability % 10);
    const Filler fill{device, source};
    fill.unit("flop.fma.fp32", row.fma_fp32);
    fill.unit("flop.fma.fp64", row.fma_fp64);
    fill.unit("flop.fma.fp16", row.fma_fp16);
    fill.unit("op.ex2", row.ex2);
    // Four schedulers of 32 lanes an SM, one instruction a clock each; compute capability 6.0 has
    // two (CUDA C++ Programming Guide, the chapter of each).
    fill.unit("op.issue", row.capability == 60 ? 64 : 128);
    fill.unit("byte.smem_lsu", 128);
    fill.unit("byte.smem_mma", 128);
    // GeForce halves the rate with fp32 accumulation (GA102, Ada and RTX Blackwell whitepapers).
    const std::string name = properties.name;
    const bool halved = name.find("GeForce") != std::string::npos && row.capability != 70;
    const double mma = row.mma * (halved ? 0.5 : 1);
    // Hopper has no warp-level fp8 instruction: ptxas lowers it to fp16 ones. Nobody states a rate
    // of mma.sync beside tcgen05: it is taken to be Hopper's, as in devices/b200.json.
    const bool legacy = row.wgmma > 0 || row.tcgen05 > 0;
    fill.engine("mma", mma, row, legacy ? mma : 2 * mma);
    fill.engine("wgmma", row.wgmma, row, 2 * row.wgmma);
    fill.engine("tcgen05", row.tcgen05, row, 2 * row.tcgen05);

    const double controllers = properties.memory_bus_bits / 32.0;
    const double l2 = row.l2_bytes > 0   ? row.l2_bytes
                      : row.l2_bytes < 0 ? -row.l2_bytes * device.units
                                         : controllers * l2_bytes_per_controller;
    fill.unit("byte.l2", l2 / device.units, "estimate, see the files in devices/");
    // Hopper, and Blackwell's pairs of dies.
    if (properties.l2_bytes > 0 && row.capability >= 90 && row.capability < 120) {
        device.rates["size.l2.half"] = {static_cast<double>(properties.l2_bytes) / 2,
                                        "datasheet: derived, one of two halves of the L2", 0,
                                        "what one half serves the SMs beside it with", 0};
    }
    // Two transfers a clock: every memory since GDDR3 and HBM moves data on both edges.
    const double dram = 2 * properties.memory_clock_hz * properties.memory_bus_bits / 8;
    for (const char* id : {"byte.dram_read", "byte.dram_write", "byte.dram_copy"}) {
        if (dram > 0) {
            device.rates[id] = {dram, "datasheet: derived from memory clock x 2 x bus width", 0,
                                "interface peak", 0};
        }
    }
}

}  // namespace raceline
