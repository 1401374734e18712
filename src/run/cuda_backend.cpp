// SPDX-License-Identifier: Apache-2.0
// Runs a case on an NVIDIA GPU.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "run/backend.hpp"
#include "run/cuda_arena.hpp"
#include "run/device_gate.hpp"
#include "run/draw_cache.hpp"
#include "run/operation_arena.hpp"
#include "support/check.hpp"
#include "timing/contenders.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline {
namespace {

constexpr double graph_seconds = 200e-6;  // a graph lasts at least this long
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
template <class Args>
struct Call {
    const Kernel& kernel;
    int tile;
    const Device& device;
    const Scratch& scratch;
    const std::vector<Args>& sets;

    void operator()(void* stream, int i) const {
        const auto set = static_cast<std::size_t>(i) % sets.size();
        kernel.enqueue(sets[set], tile, device, scratch.data(), stream);
    }
};

// A draw of another operation's inputs: answered on the host, as their records say.
class DeviceOperation {
public:
    DeviceOperation(const Workload& workload, std::uint64_t seed, Draw draw)
        : answers_(workload, seed, draw) {}
    DeviceOperation(DeviceOperation&&) = delete;

    [[nodiscard]] const OperationAnswers& answers() const { return answers_; }
    Correctness judge(const Precision& precision, const OperationArena& arena, int index) {
        const StoredOutputs stored = arena.outputs(index);
        const std::vector<std::span<const std::byte>> outputs(stored.begin(), stored.end());
        return answers_.judge(precision, outputs);
    }

private:
    OperationAnswers answers_;
};

// Sets of the same numbers at other addresses, so that what was timed can be judged.
std::unique_ptr<CudaArena> filled_arena(const Workload& workload, const DeviceDraw& drawn,
                                        int count) {
    auto arena = std::make_unique<CudaArena>(workload, drawn.inputs().structure(), count);
    for (int i = 0; i < count; ++i) {
        arena->copy_inputs(i, drawn.inputs().arena(), 0);
    }
    return arena;
}
std::unique_ptr<OperationArena> filled_arena(const Workload& /*workload*/,
                                             const DeviceOperation& drawn, int count) {
    return std::make_unique<OperationArena>(drawn.answers(), count);
}

std::size_t set_bytes(const Workload& workload, const DeviceDraw& drawn) {
    return CudaArena::set_bytes(workload, drawn.inputs().structure());
}
std::size_t set_bytes(const Workload& /*workload*/, const DeviceOperation& drawn) {
    return OperationArena::set_bytes(drawn.answers().inputs().tensors);
}

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

// A call that touches little of its inputs (rows of a large table, a window of a long cache) leaves
// what it touched in the L2, however many bytes the sets have: then it is read over before each
// sample.
bool touches_less_than_l2(const Workload& workload, int calls, std::size_t l2) {
    const double touched = workload.bytes_read() + workload.bytes_written();
    return touched * calls < 2.0 * static_cast<double>(l2);
}

template <class Args>
double time_one_call(const Call<Args>& call, const cuda::Stream& stream) {
    const cuda::StreamTimer timer;
    // The first call loads the module; the second is timed.
    call(stream.get(), 0);
    stream.synchronize();
    timer.begin(stream);
    call(stream.get(), 0);
    timer.end(stream);
    return timer.seconds();
}

class CudaBackend final : public Backend {
public:
    explicit CudaBackend(Device device) : device_(std::move(device)) {}
    [[nodiscard]] std::string_view name() const override { return "cuda"; }
    [[nodiscard]] const Device& device() const override { return device_; }

    Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                      const CaseOptions& options) override {
        return check_draws(options, workload, [&](Draw draw) {
            return draws_.serve(kernel, [&](auto& draws) {
                return check_draw(draws, kernel, tile, workload, options, draw);
            });
        });
    }

    Timed measure(const Kernel& kernel, int tile, const Workload& workload,
                  const CaseOptions& options) override {
        const std::string& path = options.how.launch_path;
        require(path == "graph" || path == "stream", Status::invalid_argument,
                "launch path '{}' does not exist on a GPU; use graph or stream", path);
        return draws_.serve(kernel, [&](auto& draws) {
            return measure_on(draws, kernel, tile, workload, options);
        });
    }

private:
    template <class Drawn>
    Timed measure_on(DrawCache<Drawn>& draws, const Kernel& kernel, int tile,
                     const Workload& workload, const CaseOptions& options) const {
        Drawn& drawn = draws.of(workload, options.seed, Draw::plain, seed_of(options, Draw::plain));
        const Scratch scratch(kernel.workspace(workload, tile, device_));
        const cuda::Stream stream;
        int calls = 0;
        {
            const auto first = filled_arena(workload, drawn, 1);
            const std::vector set{first->args(0)};
            const double once = time_one_call(Call{kernel, tile, device_, scratch, set}, stream);
            calls = calls_per_sample(once, set_bytes(workload, drawn), cuda::l2_bytes(),
                                     options.how.cold);
        }
        const int count = options.how.cold ? calls : 1;
        const auto arena = filled_arena(workload, drawn, count);
        std::vector sets{arena->args(0)};
        for (int i = 1; i < count; ++i) {
            sets.push_back(arena->args(i));
        }
        cuda::synchronize();
        Timed timed;
        TimingOptions timing{.limits = options.limits, .regime = options.how.regime};
        timing.separate =
            options.how.cold && touches_less_than_l2(workload, calls, cuda::l2_bytes());
        timed.measurement =
            time_calls(Call{kernel, tile, device_, scratch, sets}, stream, calls, options, timing);
        timed.outputs =
            judge_timed(kernel.precision(workload), workload, options, drawn, *arena, count);
        return timed;
    }

    template <class Args>
    static Measurement time_calls(const Call<Args>& call, const cuda::Stream& stream, int calls,
                                  const CaseOptions& options, const TimingOptions& timing) {
        int next = 0;
        Contender contender{.name = std::string(call.kernel.name),
                            .enqueue = {},
                            .calls = calls,
                            .call = [&](void* on) { call(on, next++); }};
        std::optional<cuda::Graph> graph;
        if (options.how.launch_path == "graph") {
            graph.emplace(stream, call, calls);
            contender.enqueue = [&](void*) { graph->launch(stream); };
        } else {
            contender.enqueue = [&](void* on) {
                for (int i = 0; i < calls; ++i) {
                    call(on, i);
                }
            };
        }
        return time_on_gpu({&contender, 1}, stream, timing).front();
    }

    template <class Drawn, class Arena>
    static Correctness judge_timed(const Precision& precision, const Workload& workload,
                                   const CaseOptions& options, Drawn& drawn, const Arena& arena,
                                   int count) {
        CaseOptions plain = options;
        plain.draws = {Draw::plain};
        return check_draws(plain, workload, [&](Draw) {
            Correctness verdict = drawn.judge(precision, arena, 0);
            // What is equal to the bit needs no second verdict.
            for (int i = 1; i < count && verdict.passed; ++i) {
                if (!arena.same_outputs(i, 0)) {
                    verdict = raceline::worse_of(verdict, drawn.judge(precision, arena, i));
                }
            }
            return verdict;
        });
    }

    template <class Drawn>
    Correctness check_draw(DrawCache<Drawn>& draws, const Kernel& kernel, int tile,
                           const Workload& workload, const CaseOptions& options, Draw draw) const {
        Drawn& drawn = draws.of(workload, options.seed, draw, seed_of(options, draw));
        const auto arena = filled_arena(workload, drawn, 1);
        const Scratch scratch(kernel.workspace(workload, tile, device_));
        cuda::synchronize();
        const cuda::Stream stream;
        kernel.enqueue(arena->args(0), tile, device_, scratch.data(), stream.get());
        stream.synchronize();
        Correctness verdict = drawn.judge(kernel.precision(workload), *arena, 0);
        std::string overrun = arena->overrun(0);
        if (overrun.empty() && !scratch.intact()) {
            overrun = "it wrote past the end of its workspace";
        }
        if (!overrun.empty() && verdict.passed) {
            verdict.passed = false;
            verdict.why = overrun;
        }
        return verdict;
    }

    // Draws of a large workload are kept one at a time.
    static constexpr double large = static_cast<double>(most_bytes) / 8;
    Device device_;
    Draws<DeviceDraw, DeviceOperation> draws_{large};
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(Device device) {
    const std::string reason = cuda::why_unavailable();
    require(reason.empty(), Status::no_device, "device '{}' is not live: {}", device.id, reason);
    return std::make_unique<CudaBackend>(std::move(device));
}

}  // namespace raceline
