// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "probe/gpu_chase.hpp"
#include "probe/gpu_steps.hpp"
#include "support/check.hpp"
#include "support/statistics.hpp"
#include "timing/measurement.hpp"

namespace raceline::probe {
namespace {

Ceiling floor_of(const Device& device, const std::string& id, double seconds,
                 const std::string& method) {
    GpuPass pass;
    pass.seconds = seconds;
    return gpu_ceiling(id, "s", pass, device, method);
}

// Samples of the four ways to pay for a launch.
struct LaunchSamples {
    std::vector<double> in_stream, in_graph, call_stream, call_graph;
};

// Device time between launches that follow one another, and host time of one call.
LaunchSamples sample_launches(const GpuSetting& with, int launches, int repetitions) {
    const cuda::Stream& stream = with.timer.stream();
    const cuda::StreamTimer timer;
    const auto enqueue = [&](void* to, int) { with.kernels.empty(to); };
    const cuda::Graph many(stream, enqueue, launches);
    const cuda::Graph one(stream, enqueue, 1);
    const auto device_seconds = [&](const auto& work) {
        timer.begin(stream);
        work();
        timer.end(stream);
        return timer.seconds();
    };
    const auto host_seconds = [&](const auto& call) {
        const double begin = monotonic_seconds();
        call();
        const double elapsed = monotonic_seconds() - begin;
        stream.synchronize();
        return elapsed;
    };
    LaunchSamples samples;
    for (int repetition = -1; repetition < repetitions; ++repetition) {
        const double streamed = device_seconds([&] {
            for (int launch = 0; launch < launches; ++launch) {
                enqueue(stream.get(), launch);
            }
        });
        const double graphed = device_seconds([&] { many.launch(stream); });
        const double call = host_seconds([&] { enqueue(stream.get(), 0); });
        const double graph_call = host_seconds([&] { one.launch(stream); });
        if (repetition >= 0) {  // the first round loads the kernel
            samples.in_stream.push_back(streamed / launches);
            samples.in_graph.push_back(graphed / launches);
            samples.call_stream.push_back(call);
            samples.call_graph.push_back(graph_call);
        }
    }
    cuda::check_launch("an empty kernel");
    return samples;
}

void probe_launches(GpuSetting& with, std::vector<Ceiling>& out) {
    const int launches = with.timer.quick() ? 100 : 1000;
    const auto samples = sample_launches(with, launches, with.timer.quick() ? 3 : 15);
    out.push_back(floor_of(with.device, "floor.launch_stream", median(samples.in_stream),
                           fmt::format("{} empty kernels launched one after the other into a "
                                       "stream, device time of one, median",
                                       launches)));
    out.push_back(floor_of(with.device, "floor.launch_graph", median(samples.in_graph),
                           fmt::format("graph of {} empty kernels in a row, device time of a "
                                       "node, median",
                                       launches)));
    out.push_back(floor_of(with.device, "floor.call_stream", median(samples.call_stream),
                           "host time of one launch into an idle stream, median"));
    out.push_back(floor_of(with.device, "floor.call_graph", median(samples.call_graph),
                           "host time of launching a graph of one kernel, median"));
}

// Grids of two sizes with one CTA an SM: their difference holds waves alone, no launch.
void probe_cta(GpuSetting& with, std::vector<Ceiling>& out) {
    constexpr int few = 20;
    constexpr int many = 220;
    const Device& device = with.device;
    const int shared = static_cast<int>(device.smem_bytes_per_cta);
    const auto time_of = [&](int waves) {
        return with.timer
            .best(
                [&](GpuSpan*, void* stream) {
                    with.kernels.ctas(waves * device.units, 256, shared, stream);
                    return 1.0;
                },
                "")
            .seconds;
    };
    const double seconds = (time_of(many) - time_of(few)) / (many - few);
    out.push_back(floor_of(device, "floor.cta", std::max(seconds, 0.0),
                           fmt::format("CTAs of 256 threads that hold {} bytes of shared memory, "
                                       "one an SM: time of {} waves less that of {}, a wave",
                                       shared, many, few)));
}

void probe_latency(GpuSetting& with, const std::string& id, const Chase& chase,
                   std::vector<Ceiling>& out) {
    out.push_back(gpu_ceiling(
        id, "s", chase_pass(with, chase), with.device,
        fmt::format("pointer chase past L1 by one thread through a random "
                    "cycle of {} nodes over {} MiB, shortest of several runs "
                    "of {} steps",
                    chase.footprint / chase.stride, chase.footprint >> 20U, chase.steps)));
}

struct LoadedLatency {
    std::string id;
    std::size_t footprint;
    int steps;
};

// Four warps, one a scheduler, on every unit. A unit's share of a step is 2 KiB, a fraction of what
// memory delivers in that time: what grows is not a queue but the last of many lines.
void probe_loaded_latency(GpuSetting& with, const LoadedLatency& load, std::vector<Ceiling>& out) {
    const cuda::DeviceBuffer buffer(load.footprint);
    cuda::fill(buffer.data(), 0, buffer.bytes());
    cuda::synchronize();
    const GpuGrid grid{.ctas = with.device.units, .threads = 128};
    const auto follow = [&](GpuSpan* span, void* to) {
        with.kernels.dependent(grid, buffer.data(), buffer.bytes(), load.steps, span, to);
        return static_cast<double>(load.steps);
    };
    GpuPass pass = with.timer.best(follow, "");
    pass.seconds /= load.steps;
    out.push_back(gpu_ceiling(
        load.id, "s", pass, with.device,
        fmt::format("a CTA of 128 threads on each of {} units: 16 bytes a thread past L1, then all "
                    "meet, then the next; {} MiB, shortest of several runs of {} steps",
                    grid.ctas, load.footprint >> 20U, load.steps)));
}

}  // namespace

void append_gpu_floor_steps(const Device& /*device*/, std::vector<GpuStep>& steps) {
    steps.push_back({"launch floors", probe_launches});
    steps.push_back({"CTA start and drain", probe_cta});
    steps.push_back({"DRAM latency", [](GpuSetting& with, std::vector<Ceiling>& out) {
                         probe_latency(with, "latency.dram",
                                       {std::size_t{1} << 30U, 256, 50'000, false}, out);
                     }});
    // Small enough for any L2, each run a whole round: the first, uncounted one fills it.
    steps.push_back({"L2 latency", [](GpuSetting& with, std::vector<Ceiling>& out) {
                         probe_latency(with, "latency.l2",
                                       {std::size_t{2} << 20U, 128, 16'384, true}, out);
                     }});
    // A run reads all of it once, so that the next one finds nothing of it in the L2.
    steps.push_back(
        {"DRAM latency of a CTA", [](GpuSetting& with, std::vector<Ceiling>& out) {
             const std::size_t bytes = std::size_t{1} << 30U;
             const int steps_of_all = static_cast<int>(bytes / (2048UL * with.device.units));
             probe_loaded_latency(with, {"latency.dram.loaded", bytes, steps_of_all}, out);
         }});
    steps.push_back({"L2 latency of a CTA", [](GpuSetting& with, std::vector<Ceiling>& out) {
                         probe_loaded_latency(
                             with, {"latency.l2.loaded", std::size_t{8} << 20U, 4000}, out);
                     }});
}

}  // namespace raceline::probe
