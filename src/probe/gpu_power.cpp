// SPDX-License-Identifier: Apache-2.0
// What each resource draws: joules a byte, operation or flop, from what the board's own meter
// counts while a probe's loop runs on parts of the chip. And how the voltage follows the clock,
// from products that the power limit holds down.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "probe/gpu_steps.hpp"
#include "support/check.hpp"

namespace raceline::probe {
namespace {

constexpr double launch_seconds = 0.01;  // long against its own start

// Work of one kind on `sms` of the device's SMs.
struct Load {
    std::string resource;
    std::string unit;  ///< what a joule is spent on
    std::function<double(int sms, int rounds, GpuSpan*, void*)> run;
};

// Loads that ran for a while, each on a stream of its own.
struct Drawn {
    double watts = 0;
    double clock_hz = 0;
    std::vector<double> rates;  ///< work a second, by load
};

struct Part {
    const Load* load = nullptr;
    int sms = 0;
};

class PowerMeter {
public:
    explicit PowerMeter(GpuSetting& with) : with_(with) {}

    // All parts at once, without a gap, for `seconds`. The first third is left out: power and clock
    // settle in it.
    Drawn draw(const std::vector<Part>& parts, double seconds);
    [[nodiscard]] double limit_w() const { return nvml_.power_limit_w(); }

private:
    struct Counted {
        double seconds = 0, joules = 0;
    };
    Counted counted_now();
    double watts_until(double begin, double end);

    GpuSetting& with_;
    cuda::Nvml nvml_;
    cuda::DeviceBuffer span_{sizeof(GpuSpan)};
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The moment at which the meter's count rises: between two of its values it says nothing.
PowerMeter::Counted PowerMeter::counted_now() {
    const double before = nvml_.energy_j();
    const double began = now();
    double joules = before;
    while (joules == before) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        joules = nvml_.energy_j();
        require(now() - began < 2, Status::internal,
                "the board's energy counter (NVML) stood still for two seconds");
    }
    return {now(), joules};
}

double PowerMeter::watts_until(double begin, double end) {
    while (now() < begin) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const Counted first = counted_now();
    Counted last = counted_now();
    while (last.seconds < end) {
        last = counted_now();
    }
    return (last.joules - first.joules) / (last.seconds - first.seconds);
}

// Everything is enqueued before anything is read, more than will be needed by half: side by side
// loads are slower than each was alone.
Drawn PowerMeter::draw(const std::vector<Part>& parts, double seconds) {
    std::vector<std::unique_ptr<cuda::Stream>> streams;
    std::vector<std::unique_ptr<cuda::StreamTimer>> timers;
    std::vector<double> work(parts.size());
    std::vector<int> rounds;
    auto* span = reinterpret_cast<GpuSpan*>(span_.data());
    for (const Part& part : parts) {
        rounds.push_back(with_.timer.rounds_for(
            [&](int n, GpuSpan* at, void* stream) {
                return part.load->run(part.sms, n, at, stream);
            },
            launch_seconds));
        streams.push_back(std::make_unique<cuda::Stream>());
        timers.push_back(std::make_unique<cuda::StreamTimer>());
    }
    const double began = now();
    const int launches = static_cast<int>(std::ceil(1.5 * seconds / launch_seconds));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        timers[i]->begin(*streams[i]);
    }
    for (int launch = 0; launch < launches; ++launch) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            work[i] += parts[i].load->run(parts[i].sms, rounds[i], span, streams[i]->get());
        }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        timers[i]->end(*streams[i]);
    }
    cuda::check_launch("a power probe's kernel");
    Drawn drawn;
    drawn.watts = watts_until(began + seconds / 3, began + seconds);
    drawn.clock_hz = nvml_.read().sm_clock_hz;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        drawn.rates.push_back(work[i] / timers[i]->seconds());
    }
    return drawn;
}

// Joules a unit of work: least squares of what is drawn above idling over the rate, through the
// points that ran at the highest clock.
double fit_joules(const std::vector<Drawn>& points, double idle_w, double highest_hz) {
    double xx = 0, xy = 0;
    for (const Drawn& point : points) {
        const double rate = point.rates.front();
        if (point.clock_hz >= 0.99 * highest_hz) {
            xx += rate * rate;
            xy += rate * (point.watts - idle_w);
        }
    }
    require(xx > 0, Status::internal, "no power reading at the highest clock");
    return xy / xx;
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
        {"byte.dram_read", "byte",
         [&k, memory, bytes](int sms, int rounds, GpuSpan* span, void* stream) {
             double work = 0;
             for (int i = 0; i < rounds; ++i) {
                 work += k.read({2 * sms, 512, 8}, memory, bytes, span, stream);
             }
             return work;
         }},
        // Copies: stores of a constant would switch few of the wires.
        {"byte.dram_write", "byte",
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
    std::vector<double> joules;
    std::vector<double> slopes;  ///< of the voltage, from each load that the limit held down
};

// Products on all SMs, which the limit holds down, beside those on half of them, which it does not:
// the clock is twice the rates' quotient, and what is drawn less than rate x joules is the
// voltage's, squared.
void note_slope(const Drawn& half, const Drawn& full, double joules, Energies& known) {
    const double clocks = full.rates.front() / (2 * half.rates.front());
    const double dynamic = (full.watts - known.idle_w) / (joules * full.rates.front());
    const bool held_down = half.clock_hz >= 0.99 * known.highest_hz && clocks < 0.95;
    if (held_down && dynamic > 0 && dynamic < 1) {
        known.slopes.push_back((1 - std::sqrt(dynamic)) / (1 - clocks));
    }
}

void probe_load(GpuSetting& with, PowerMeter& meter, const Load& load, Energies& known,
                std::vector<Ceiling>& out) {
    const double seconds = with.timer.quick() ? 0.3 : 0.6;
    std::vector<Drawn> points;
    for (const int part : {4, 2, 1}) {
        const int sms = std::max(1, with.device.units / part);
        points.push_back(meter.draw({{&load, sms}}, seconds));
    }
    double joules = fit_joules(points, known.idle_w, known.highest_hz);
    if (load.resource.starts_with("flop.wgmma.")) {
        note_slope(points[1], points[2], joules, known);
    }
    const bool writes = load.resource == "byte.dram_write";
    if (writes) {  // a copy's, less the reading, which was the first load
        joules -= known.joules.front();
    }
    known.joules.push_back(joules);
    out.push_back(power_row(
        "energy." + load.resource, joules, "J", points.back(),
        fmt::format("{}what the board draws above idling, over the rate, on a fourth, half and all "
                    "of the SMs, where they run at the highest clock (least squares): {}",
                    writes ? "copies, less what reading takes: " : "",
                    points_text(points, load.unit))));
}

// Two loads at once, each on half of the CTAs that it has alone: the row's value is what was drawn,
// its text what the energies add up to.
void probe_mix(GpuSetting& with, PowerMeter& meter, const std::vector<Load>& loads,
               const Energies& known, std::size_t a, std::size_t b, std::vector<Ceiling>& out) {
    const int half = std::max(1, with.device.units / 2);
    const Drawn drawn =
        meter.draw({{&loads[a], half}, {&loads[b], half}}, with.timer.quick() ? 0.3 : 0.6);
    const double sum =
        known.idle_w + known.joules[a] * drawn.rates[0] + known.joules[b] * drawn.rates[1];
    out.push_back(power_row(
        fmt::format("power.mix.{}+{}", loads[a].resource, loads[b].resource), drawn.watts, "W",
        drawn,
        fmt::format("both at once, each on half of the SMs: {:.4g} and {:.4g} a second at {:.2f} "
                    "GHz; their energies add up to {:.0f} W at the highest clock's voltage",
                    drawn.rates[0], drawn.rates[1], drawn.clock_hz / 1e9, sum)));
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
    // Right after work, before the clock falls to its idle state.
    const Drawn warm = meter.draw({{&loads[4], 1}}, with.timer.quick() ? 0.3 : 0.6);
    known.idle_w = warm.watts;
    out.push_back(power_row("power.idle", warm.watts, "W", warm,
                            "one SM multiplies and adds, the others are idle at that clock"));
    if (const double limit = meter.limit_w(); limit > 0) {
        out.push_back(power_row("power.limit", limit, "W", {}, "the enforced limit, by NVML"));
    }
    for (const Load& load : loads) {
        probe_load(with, meter, load, known, out);
    }
    if (!known.slopes.empty()) {
        std::ranges::sort(known.slopes);
        const double slope = known.slopes[known.slopes.size() / 2];
        out.push_back(power_row(
            "power.voltage_slope", slope, "1", {},
            fmt::format("relative fall of the voltage over that of the clock, median of {} loads "
                        "that the limit holds down: what they draw less than rate x energy is the "
                        "voltage squared; {:.2f} to {:.2f}",
                        known.slopes.size(), known.slopes.front(), known.slopes.back())));
    }
    const auto index = [&](std::string_view resource) {
        const auto found = std::ranges::find(loads, resource, &Load::resource);
        return found == loads.end() ? loads.size()
                                    : static_cast<std::size_t>(found - loads.begin());
    };
    struct Pair {
        const char *a, *b;
    };
    for (const Pair pair : {Pair{"flop.fma.fp32", "byte.dram_read"},
                            {"flop.fma.fp32", "op.ex2"},
                            {"byte.smem_lsu", "byte.l2"},
                            {"flop.mma.bf16", "byte.dram_read"},
                            {"flop.mma.bf16", "byte.smem_lsu"},
                            {"flop.wgmma.bf16", "op.ex2"},
                            {"flop.wgmma.bf16", "byte.dram_read"},
                            {"flop.wgmma.e4m3", "byte.l2"}}) {
        const std::size_t a = index(pair.a), b = index(pair.b);
        if (a < loads.size() && b < loads.size()) {
            probe_mix(with, meter, loads, known, a, b, out);
        }
    }
}

}  // namespace

void append_gpu_power_steps(const Device& /*device*/, std::vector<GpuStep>& steps) {
    steps.push_back({"power of each resource and of mixes", probe_power});
}

}  // namespace raceline::probe
