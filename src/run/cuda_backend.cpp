// SPDX-License-Identifier: Apache-2.0
// Runs a case on an NVIDIA GPU.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "run/backend.hpp"
#include "run/cuda_arena.hpp"
#include "support/check.hpp"
#include "support/statistics.hpp"
#include "timing/cuda_runtime.hpp"
#include "timing/stop_rule.hpp"

namespace raceline {
namespace {

constexpr double graph_seconds = 200e-6;  // a graph lasts at least this long
constexpr double ramp_seconds = 80e-3;    // work before the first sample: clocks settle
constexpr double poll_seconds = 2e-3;     // NVML answers no faster than this
constexpr std::size_t most_bytes = 24ULL << 30;
constexpr int most_calls = 4096;  // nodes of one graph

// Scratch as a caller would hand it over: uninitialised, here NaN, with a red zone behind it.
class Scratch {
public:
    explicit Scratch(std::size_t bytes) : bytes_(bytes), memory_(bytes + red_zone_bytes) {
        cuda::fill(memory_.data(), 0xFF, memory_.bytes());
    }
    [[nodiscard]] void* data() const { return memory_.data(); }
    [[nodiscard]] bool intact() const { return red_zone_intact(memory_.data() + bytes_); }

private:
    std::size_t bytes_;
    cuda::DeviceBuffer memory_;
};

// What is launched, once for all sets.
struct Call {
    const Kernel& kernel;
    int tile;
    const Device& device;
    const Scratch& scratch;
    const std::vector<AttentionArgs>& sets;

    void operator()(void* stream, int i) const {
        const auto set = static_cast<std::size_t>(i) % sets.size();
        kernel.launch(sets[set], tile, device, scratch.data(), stream);
    }
};

// Calls of one sample: enough to last, and if cold enough to turn the L2 over twice.
int calls_per_sample(double one_call, std::size_t set_bytes, std::size_t l2, bool cold) {
    double calls = std::ceil(graph_seconds / std::max(one_call, 1e-7));
    if (cold) {
        calls = std::max(
            calls, std::floor(2.0 * static_cast<double>(l2) / static_cast<double>(set_bytes)) + 1);
        const std::size_t room = std::min(most_bytes, cuda::free_bytes() / 10 * 9);
        calls = std::min(calls, std::max(1.0, std::floor(static_cast<double>(room) /
                                                         static_cast<double>(set_bytes))));
    }
    return static_cast<int>(std::min<double>(calls, most_calls));
}

double time_one_call(const Call& call, const cuda::Stream& stream) {
    const cuda::StreamTimer timer;
    // The first call loads the module; the second is timed.
    call(stream.get(), 0);
    stream.synchronize();
    timer.begin(stream);
    call(stream.get(), 0);
    timer.end(stream);
    return timer.seconds();
}

// Host time of one call and the wait for it, on an idle stream.
double host_seconds(const Call& call, const cuda::Stream& stream) {
    constexpr int most = 31;
    std::vector<double> samples;
    const double start = monotonic_seconds();
    for (int i = 0; i < most && (i < 3 || monotonic_seconds() - start < 0.1); ++i) {
        const double begin = monotonic_seconds();
        call(stream.get(), i);
        stream.synchronize();
        samples.push_back(monotonic_seconds() - begin);
    }
    return median(samples);
}

// Samples device time per call until the stop rule has seen enough. Clock and power are read while
// a sample runs: an idle GPU would report another clock.
Measurement sample(const std::function<void()>& enqueue, const cuda::Stream& stream, int calls,
                   const StopLimits& limits) {
    const cuda::StreamTimer timer;
    const cuda::Nvml nvml;
    const double start = monotonic_seconds();
    do {
        enqueue();
        stream.synchronize();
    } while (monotonic_seconds() - start < ramp_seconds);

    // The rule's time limits are about work on the clock, so it sees whole samples.
    StopRule rule(limits);
    std::vector<double> clocks;
    std::vector<double> powers;
    std::vector<double> per_call;
    bool throttled = false;
    cuda::ClockState state;
    double polled = 0;
    while (!rule.done()) {
        timer.begin(stream);
        enqueue();
        timer.end(stream);
        if (const double now = monotonic_seconds(); now - polled >= poll_seconds) {
            state = nvml.read();
            polled = now;
        }
        const double seconds = timer.seconds();
        rule.add(seconds);
        per_call.push_back(seconds / calls);
        clocks.push_back(state.sm_clock_hz);
        powers.push_back(state.power_w);
        throttled = throttled || state.throttled;
    }
    Measurement m = summarize(per_call);
    m.sm_clock_hz = median(clocks);
    m.power_w = median(powers);
    m.settled = rule.settled();
    m.throttled = throttled;
    return m;
}

// One draw of a workload's inputs with what every kernel and tile judged on it shares: the answers,
// and a copy on the device that no kernel ever sees. Each check runs on a copy of that copy, so
// that what one kernel overwrites reaches no other.
struct Draw {
    Inputs inputs;
    GateAnswers answers;
    CudaArena untouched;

    Draw(const Workload& workload, std::uint64_t seed)
        : inputs(make_inputs(workload, {.seed = seed})),
          answers(workload, inputs, seed),
          untouched(workload, inputs, 1) {
        untouched.upload_all(0);
    }
    Draw(Draw&&) = delete;
};

class CudaBackend final : public Backend {
public:
    explicit CudaBackend(Device device) : device_(std::move(device)) {}
    [[nodiscard]] std::string_view name() const override { return "cuda"; }
    [[nodiscard]] const Device& device() const override { return device_; }

    Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                      const CaseOptions& options) override {
        Correctness verdict;
        try {
            for (std::uint64_t i = 0; i < seeds_for(workload); ++i) {
                const Correctness one = check_seed(kernel, tile, workload, options.seed + i);
                verdict = i == 0 ? one : worse_of(verdict, one);
                if (!one.passed) {
                    break;
                }
            }
        } catch (const std::exception& error) {
            verdict.passed = false;
            verdict.why = error.what();
        }
        return verdict;
    }

    Measurement measure(const Kernel& kernel, int tile, const Workload& workload,
                        const CaseOptions& options) override {
        const std::string& path = options.how.launch_path;
        require(path == "graph" || path == "stream", Status::invalid_argument,
                "launch path '{}' does not exist on a GPU; use graph or stream", path);
        const Inputs& inputs = draw_of(workload, options.seed).inputs;
        const Scratch scratch(kernel.workspace(workload, tile, device_));
        const cuda::Stream stream;
        int calls = 0;
        {
            const CudaArena first(workload, inputs, 1);
            first.randomize(0, options.seed);
            cuda::synchronize();
            const std::vector<AttentionArgs> set{first.args(0)};
            const double once = time_one_call({kernel, tile, device_, scratch, set}, stream);
            calls = calls_per_sample(once, CudaArena::set_bytes(workload, inputs), cuda::l2_bytes(),
                                     options.how.cold);
        }
        const int count = options.how.cold ? calls : 1;
        const CudaArena arena(workload, inputs, count);
        std::vector<AttentionArgs> sets;
        for (int i = 0; i < count; ++i) {
            arena.randomize(i, options.seed + 1 + static_cast<std::uint64_t>(i));
            sets.push_back(arena.args(i));
        }
        cuda::synchronize();
        const Call call{kernel, tile, device_, scratch, sets};
        const double host = host_seconds(call, stream);
        Measurement m = time_calls(call, stream, calls, path == "graph", options.limits);
        m.seconds_call = host;
        return m;
    }

private:
    static Measurement time_calls(const Call& call, const cuda::Stream& stream, int calls,
                                  bool as_graph, const StopLimits& limits) {
        if (as_graph) {
            const cuda::Graph graph(stream, call, calls);
            return sample([&] { graph.launch(stream); }, stream, calls, limits);
        }
        return sample(
            [&] {
                for (int i = 0; i < calls; ++i) {
                    call(stream.get(), i);
                }
            },
            stream, calls, limits);
    }

    // Small cases are cheap enough for more than one draw of the data.
    static std::uint64_t seeds_for(const Workload& w) {
        const double bytes = w.bytes_q() + w.bytes_kv() + w.bytes_out();
        const double work = w.visited_pairs() * static_cast<double>(w.heads_q);
        return bytes < 16e6 && work < 1e9 ? 3 : 1;
    }

    // The larger errors of two passing draws, or the failing one.
    static Correctness worse_of(Correctness a, const Correctness& b) {
        if (!b.passed) {
            return b;
        }
        if (b.relative_rms * a.bound > a.relative_rms * b.bound) {
            a.relative_rms = b.relative_rms;
            a.bound = b.bound;
        }
        if (b.worst * a.bound_worst > a.worst * b.bound_worst) {
            a.worst = b.worst;
            a.bound_worst = b.bound_worst;
        }
        a.lse_worst = std::max(a.lse_worst, b.lse_worst);
        a.cases += b.cases;
        return a;
    }

    Correctness check_seed(const Kernel& kernel, int tile, const Workload& workload,
                           std::uint64_t seed) {
        Draw& draw = draw_of(workload, seed);
        const CudaArena arena(workload, draw.inputs, 1);
        arena.copy_inputs(0, draw.untouched, 0);
        const Scratch scratch(kernel.workspace(workload, tile, device_));
        cuda::synchronize();
        const cuda::Stream stream;
        kernel.launch(arena.args(0), tile, device_, scratch.data(), stream.get());
        stream.synchronize();
        const std::vector<std::byte> out = arena.out(0);
        const std::vector<float> lse = arena.lse(0);
        Correctness verdict = judge(draw.answers, kernel.precision(workload), out, lse);
        std::string overrun = arena.overrun(0);
        if (overrun.empty() && !scratch.intact()) {
            overrun = "it wrote past the end of its workspace";
        }
        if (!overrun.empty() && verdict.passed) {
            verdict.passed = false;
            verdict.why = overrun;
        }
        return verdict;
    }

    // Every tile and kernel of one workload sees the same draws: they are made once. Those of one
    // workload at a time are kept, which bounds the memory.
    Draw& draw_of(const Workload& workload, std::uint64_t seed) {
        if (!drawn_for_ || !(*drawn_for_ == workload)) {
            drawn_.clear();  // before the workload that they refer to
            drawn_for_ = workload;
        }
        return drawn_.try_emplace(seed, *drawn_for_, seed).first->second;
    }

    Device device_;
    std::optional<Workload> drawn_for_;
    std::map<std::uint64_t, Draw> drawn_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(Device device) {
    const std::string reason = cuda::why_unavailable();
    require(reason.empty(), Status::no_device, "device '{}' is not live: {}", device.id, reason);
    return std::make_unique<CudaBackend>(std::move(device));
}

}  // namespace raceline
