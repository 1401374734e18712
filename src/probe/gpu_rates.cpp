// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include "probe/gpu_steps.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline::probe {
namespace {

std::string words(const GpuGrid& grid, const Device& device) {
    return fmt::format("{} an SM of {} threads, {} independent chains",
                       counted_text(grid.ctas / device.units, "CTA"), grid.threads, grid.unroll);
}

// From few threads with long chains to many with short ones.
std::vector<GpuGrid> arithmetic_grids(const Device& device) {
    const int sms = device.units;
    return {{sms, 256, 16}, {2 * sms, 256, 16}, {2 * sms, 512, 8}, {2 * sms, 1024, 4}};
}

using Loop = double (*)(const GpuGrid&, int, GpuSpan*, void*);

GpuPass best_arithmetic(GpuSetting& with, Loop loop) {
    GpuPass best;
    for (const GpuGrid& grid : arithmetic_grids(with.device)) {
        best = better(best, with.timer.best_loop(
                                [&](int rounds, GpuSpan* span, void* stream) {
                                    return loop(grid, rounds, span, stream);
                                },
                                0.003, words(grid, with.device)));
    }
    return best;
}

void probe_fma(GpuSetting& with, std::vector<Ceiling>& out) {
    out.push_back(gpu_ceiling("flop.fma.fp32", "flop/s", best_arithmetic(with, with.kernels.fma),
                              with.device, "fp32 multiply-add in registers"));
}

void probe_ex2(GpuSetting& with, std::vector<Ceiling>& out) {
    out.push_back(gpu_ceiling("op.ex2", "op/s", best_arithmetic(with, with.kernels.ex2),
                              with.device, "ex2.approx.ftz.f32 in registers"));
}

struct NamedType {
    MatrixType type;
    std::string_view name;
    DType storage;
    std::size_t element_bytes;
    int mma_from;  ///< first compute capability with a warp-level form
};

constexpr std::array matrix_types{
    NamedType{MatrixType::bf16, "bf16", DType::bf16, 2, 80},
    NamedType{MatrixType::fp16, "fp16", DType::fp16, 2, 80},
    NamedType{MatrixType::e4m3, "e4m3", DType::e4m3, 1, 89},
    NamedType{MatrixType::tf32, "tf32", DType::fp32, 4, 1000},  // wgmma only
};

cuda::DeviceBuffer random_operands(const NamedType& type) {
    cuda::DeviceBuffer operands(matrix_operand_bytes);
    cuda::fill_normal(operands.data(), type.storage, matrix_operand_bytes / type.element_bytes, 3);
    cuda::synchronize();
    return operands;
}

// The clock that products hold for long is that of the power limit, a burst's is higher: both are
// ceilings, of long kernels and of short ones.
void add_burst_and_sustained(GpuSetting& with, const std::string& id, const GpuLoop& loop,
                             const std::string& variant, const std::string& method,
                             std::vector<Ceiling>& out) {
    const double seconds = with.timer.quick() ? 0.1 : 1.2;
    const GpuPass burst = with.timer.burst(loop, 0.002, variant);
    const GpuPass lasting = with.timer.sustained(loop, seconds, variant);
    out.push_back(gpu_ceiling(id, "flop/s", lasting, with.device,
                              fmt::format("{}, sustained: median rate of the later half of {} s "
                                          "without a gap",
                                          method, seconds)));
    out.push_back(gpu_ceiling(id + ".burst", "flop/s", burst, with.device,
                              method + ", burst: shortest of launches of 2 ms after a pause"));
}

void probe_wgmma(GpuSetting& with, const NamedType& type, std::vector<Ceiling>& out) {
    const cuda::DeviceBuffer operands = random_operands(type);
    const auto loop_of = [&](bool a_in_registers) {
        return [&, a_in_registers](int rounds, GpuSpan* span, void* stream) {
            return with.kernels.wgmma(type.type, a_in_registers, with.device.units, rounds,
                                      operands.data(), span, stream);
        };
    };
    const auto from_shared = with.timer.best_loop(loop_of(false), 0.002, "A from shared memory");
    const auto from_registers = with.timer.best_loop(loop_of(true), 0.002, "A from registers");
    const bool registers = from_registers.rate > from_shared.rate;
    const std::string id = fmt::format("flop.wgmma.{}", type.name);
    add_burst_and_sustained(with, id, loop_of(registers),
                            registers ? from_registers.variant : from_shared.variant,
                            "wgmma m64n256, fp32 accumulators, random-normal operands, two "
                            "warpgroups an SM",
                            out);
}

void probe_mma(GpuSetting& with, const NamedType& type, std::vector<Ceiling>& out) {
    const cuda::DeviceBuffer operands = random_operands(type);
    struct CtaShape {
        int ctas_per_sm, threads;
    };
    GpuPass best;
    CtaShape chosen{};
    const auto loop_of = [&](CtaShape shape) {
        return [&, shape](int rounds, GpuSpan* span, void* stream) {
            return with.kernels.mma(type.type, shape.ctas_per_sm * with.device.units, shape.threads,
                                    rounds, operands.data(), span, stream);
        };
    };
    for (const CtaShape shape : {CtaShape{1, 128}, {1, 256}, {2, 128}, {2, 256}}) {
        const auto pass = with.timer.best_loop(
            loop_of(shape), 0.001,
            fmt::format("{} an SM of {} threads", counted_text(shape.ctas_per_sm, "CTA"),
                        shape.threads));
        if (pass.rate > best.rate) {
            best = pass;
            chosen = shape;
        }
    }
    add_burst_and_sustained(with, fmt::format("flop.mma.{}", type.name), loop_of(chosen),
                            best.variant,
                            "mma.sync m16n8, fp32 accumulators, random-normal operands in "
                            "registers",
                            out);
}

}  // namespace

void append_gpu_arithmetic_steps(const Device& device, std::vector<GpuStep>& steps) {
    steps.push_back({"multiply-add", probe_fma});
    steps.push_back({"ex2", probe_ex2});
    for (const NamedType& type : matrix_types) {
        if (device.compute_capability == 90) {
            steps.push_back({fmt::format("wgmma {}", type.name),
                             [&type](GpuSetting& with, std::vector<Ceiling>& out) {
                                 probe_wgmma(with, type, out);
                             }});
        }
        // Hopper computes e4m3 by wgmma alone; its mma.sync converts to fp16, no unit of its own.
        const bool converted = device.compute_capability == 90 && type.type == MatrixType::e4m3;
        if (device.compute_capability >= type.mma_from && !converted) {
            steps.push_back({fmt::format("mma.sync {}", type.name),
                             [&type](GpuSetting& with, std::vector<Ceiling>& out) {
                                 probe_mma(with, type, out);
                             }});
        }
    }
}

}  // namespace raceline::probe
