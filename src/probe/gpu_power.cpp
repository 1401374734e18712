// SPDX-License-Identifier: Apache-2.0
// What each resource draws: joules a byte, operation or flop, from what the board's own meter
// counts while a probe's loop runs on parts of the chip. And how the voltage follows the clock,
// from products that the power limit holds down.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "probe/gpu_steps.hpp"
#include "probe/power_fit.hpp"
#include "probe/power_meter.hpp"

namespace raceline::probe {
namespace {

constexpr const char* dram_read = "byte.dram_read";
constexpr const char* dram_write = "byte.dram_write";

double load_seconds(const GpuSetting& with) {
    return with.timer.quick() ? 0.3 : 0.6;
}

std::string points_text(const std::vector<Drawn>& points, const std::string& unit) {
    std::string text;
    for (const Drawn& point : points) {
        text += fmt::format("{}{:.0f} W at {:.4g} {}/s and {:.2f} GHz", text.empty() ? "" : ", ",
                            point.watts, point.rates.front(), unit, point.clock_hz / 1e9);
    }
    return text;
}

std::vector<Load> loads_of(GpuSetting& with, std::byte* memory, std::size_t bytes,
                           const std::byte* operands, std::size_t l2_bytes) {
    const GpuKernels& k = with.kernels;
    std::vector<Load> loads{
        {dram_read, "byte",
         [&k, memory, bytes](int sms, int rounds, GpuSpan* span, void* stream) {
             double work = 0;
             for (int i = 0; i < rounds; ++i) {
                 work += k.read({2 * sms, 512, 8}, memory, bytes, span, stream);
             }
             return work;
         }},
        // Copies: stores of a constant would switch few of the wires.
        {dram_write, "byte",
         [&k, memory, bytes](int sms, int rounds, GpuSpan* span, void* stream) {
             double work = 0;
             for (int i = 0; i < rounds; ++i) {
                 work += k.copy({2 * sms, 512, 8}, StorePolicy::regular, memory + bytes / 2, memory,
                                bytes / 2, span, stream) /
                         2;
             }
             return work;
         }},
        // The footprint goes with the SMs, so that each has the same slice.
        {"byte.l2", "byte",
         [&k, memory, l2_bytes, all = with.device.units](int sms, int rounds, GpuSpan* span,
                                                         void* stream) {
             return k.reread({2 * sms, 512, 8}, memory, l2_bytes / 2 / all * sms, rounds, span,
                             stream);
         }},
        {"byte.smem_lsu", "byte",
         [&k](int sms, int rounds, GpuSpan* span, void* stream) {
             return k.shared({sms, 1024, 16}, rounds, span, stream);
         }},
        {"flop.fma.fp32", "flop",
         [&k](int sms, int rounds, GpuSpan* span, void* stream) {
             return k.fma({2 * sms, 512, 8}, rounds, span, stream);
         }},
        {"op.ex2", "op", [&k](int sms, int rounds, GpuSpan* span, void* stream) {
             return k.ex2({2 * sms, 512, 8}, rounds, span, stream);
         }}};
    struct Products {
        MatrixType type;
        const char* name;
    };
    for (const Products one : {Products{MatrixType::bf16, "bf16"}, {MatrixType::fp16, "fp16"}}) {
        if (with.device.compute_capability >= 80) {
            loads.push_back({fmt::format("flop.mma.{}", one.name), "flop",
                             [&k, one, operands](int sms, int rounds, GpuSpan* span, void* stream) {
                                 return k.mma(one.type, 2 * sms, 128, rounds, operands, span,
                                              stream);
                             }});
        }
    }
    for (const Products one : {Products{MatrixType::bf16, "bf16"},
                               {MatrixType::fp16, "fp16"},
                               {MatrixType::e4m3, "e4m3"},
                               {MatrixType::tf32, "tf32"}}) {
        if (with.device.compute_capability == 90) {
            loads.push_back({fmt::format("flop.wgmma.{}", one.name), "flop",
                             [&k, one, operands](int sms, int rounds, GpuSpan* span, void* stream) {
                                 return k.wgmma(one.type, true, sms, rounds, operands, span,
                                                stream);
                             }});
        }
    }
    return loads;
}

Ceiling power_row(const std::string& id, double value, const std::string& unit, const Drawn& drawn,
                  std::string method) {
    Ceiling row;
    row.resource = id;
    row.value = value;
    row.unit = unit;
    row.clock_hz = drawn.clock_hz;
    row.power_w = drawn.watts;
    row.method = std::move(method);
    return row;
}

// What is known of the loads, while the mixes are tried.
struct Energies {
    double idle_w = 0;
    double highest_hz = 0;
    std::map<std::string, double> joules;  ///< by resource, a unit of work
    std::vector<double> slopes;  ///< of the voltage, from each load that the limit held down
};

PowerPoint point_of(const Drawn& drawn) {
    return {.watts = drawn.watts, .clock_hz = drawn.clock_hz, .rate = drawn.rates.front()};
}

void probe_load(GpuSetting& with, PowerMeter& meter, const Load& load, Energies& known,
                std::vector<Ceiling>& out) {
    std::vector<Drawn> points;
    for (const int part : {4, 2, 1}) {
        const int sms = std::max(1, with.device.units / part);
        points.push_back(meter.draw({{&load, sms}}, load_seconds(with)));
    }
    std::vector<PowerPoint> fitted;
    std::ranges::transform(points, std::back_inserter(fitted), point_of);
    double joules = fit_joules(fitted, known.idle_w, known.highest_hz);
    if (load.resource.starts_with("flop.wgmma.")) {
        if (const auto slope =
                voltage_slope(fitted[1], fitted[2], joules, known.idle_w, known.highest_hz)) {
            known.slopes.push_back(*slope);
        }
    }
    const bool writes = load.resource == dram_write;
    if (writes) {  // a copy's, less the reading, which was measured before
        joules -= known.joules.at(dram_read);
    }
    known.joules[load.resource] = joules;
    out.push_back(power_row(
        "energy." + load.resource, joules, "J", points.back(),
        fmt::format("{}what the board draws above idling, over the rate, on a fourth, half and all "
                    "of the SMs, where they run at the highest clock (least squares): {}",
                    writes ? "copies, less what reading takes: " : "",
                    points_text(points, load.unit))));
}

// Two loads at once, each on half of the SMs: the row's value is what was drawn, its text what the
// energies add up to.
void probe_mix(GpuSetting& with, PowerMeter& meter, const Load& a, const Load& b,
               const Energies& known, std::vector<Ceiling>& out) {
    const int half = std::max(1, with.device.units / 2);
    const Drawn drawn = meter.draw({{&a, half}, {&b, half}}, load_seconds(with));
    const double sum = known.idle_w + known.joules.at(a.resource) * drawn.rates[0] +
                       known.joules.at(b.resource) * drawn.rates[1];
    out.push_back(power_row(
        fmt::format("power.mix.{}+{}", a.resource, b.resource), drawn.watts, "W", drawn,
        fmt::format("both at once, each on half of the SMs: {:.4g} and {:.4g} a second at {:.2f} "
                    "GHz; their energies add up to {:.0f} W at the highest clock's voltage",
                    drawn.rates[0], drawn.rates[1], drawn.clock_hz / 1e9, sum)));
}

// Pairs whose loads meet in kernels, as far as this device has both.
void probe_mixes(GpuSetting& with, PowerMeter& meter, const std::vector<Load>& loads,
                 const Energies& known, std::vector<Ceiling>& out) {
    struct Pair {
        const char *a, *b;
    };
    constexpr std::array pairs{
        Pair{"flop.fma.fp32", dram_read},       Pair{"flop.fma.fp32", "op.ex2"},
        Pair{"byte.smem_lsu", "byte.l2"},       Pair{"flop.mma.bf16", dram_read},
        Pair{"flop.mma.bf16", "byte.smem_lsu"}, Pair{"flop.wgmma.bf16", "op.ex2"},
        Pair{"flop.wgmma.bf16", dram_read},     Pair{"flop.wgmma.e4m3", "byte.l2"}};
    for (const Pair& pair : pairs) {
        const auto a = std::ranges::find(loads, pair.a, &Load::resource);
        const auto b = std::ranges::find(loads, pair.b, &Load::resource);
        if (a != loads.end() && b != loads.end()) {
            probe_mix(with, meter, *a, *b, known, out);
        }
    }
}

// Right after work, before the clock falls to its idle state.
double probe_idle(GpuSetting& with, PowerMeter& meter, const std::vector<Load>& loads,
                  std::vector<Ceiling>& out) {
    const auto fma = std::ranges::find(loads, "flop.fma.fp32", &Load::resource);
    const Drawn warm = meter.draw({{&*fma, 1}}, load_seconds(with));
    out.push_back(power_row("power.idle", warm.watts, "W", warm,
                            "one SM multiplies and adds, the others are idle at that clock"));
    return warm.watts;
}

void append_slope(std::vector<double> slopes, std::vector<Ceiling>& out) {
    if (slopes.empty()) {
        return;
    }
    std::ranges::sort(slopes);
    out.push_back(power_row(
        "power.voltage_slope", slopes[slopes.size() / 2], "1", {},
        fmt::format("relative fall of the voltage over that of the clock, median of {} loads that "
                    "the limit holds down: what they draw less than rate x energy is the voltage "
                    "squared; {:.2f} to {:.2f}",
                    slopes.size(), slopes.front(), slopes.back())));
}

void probe_power(GpuSetting& with, std::vector<Ceiling>& out) {
    const std::size_t bytes = std::size_t{with.timer.quick() ? 256U : 8192U} << 20U;
    const cuda::DeviceBuffer memory(bytes);
    cuda::fill_normal(memory.data(), DType::bf16, bytes / 2, 1);
    const cuda::DeviceBuffer operands(matrix_operand_bytes);
    cuda::fill_normal(operands.data(), DType::bf16, matrix_operand_bytes / 2, 3);
    cuda::synchronize();
    const std::size_t l2 = with.device.l2_bytes > 0 ? static_cast<std::size_t>(with.device.l2_bytes)
                                                    : cuda::l2_bytes();
    PowerMeter meter(with);
    const std::vector<Load> loads = loads_of(with, memory.data(), bytes, operands.data(), l2);
    Energies known;
    known.highest_hz = with.device.clock_hz;
    known.idle_w = probe_idle(with, meter, loads, out);
    if (const double limit = meter.limit_w(); limit > 0) {
        out.push_back(power_row("power.limit", limit, "W", {}, "the enforced limit, by NVML"));
    }
    for (const Load& load : loads) {
        probe_load(with, meter, load, known, out);
    }
    append_slope(known.slopes, out);
    probe_mixes(with, meter, loads, known, out);
}

}  // namespace

void append_gpu_power_steps(const Device& /*device*/, std::vector<GpuStep>& steps) {
    steps.push_back({"power of each resource and of mixes", probe_power});
}

}  // namespace raceline::probe
