// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include "device/probe_gpu_steps.hpp"
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

// Device time between launches that follow one another, and host time of one call.
void probe_launches(GpuSetting& with, std::vector<Ceiling>& out) {
    const int launches = with.timer.quick() ? 100 : 1000;
    const int repetitions = with.timer.quick() ? 3 : 15;
    const cuda::Stream& stream = with.timer.stream();
    const cuda::StreamTimer timer;
    const cuda::Graph many(stream, [&](void* to, int) { with.kernels.empty(to); }, launches);
    const cuda::Graph one(stream, [&](void* to, int) { with.kernels.empty(to); }, 1);
    std::vector<double> in_stream;
    std::vector<double> in_graph;
    std::vector<double> call_stream;
    std::vector<double> call_graph;
    const auto elapsed_of = [&](const auto& enqueue) {
        timer.begin(stream);
        enqueue();
        timer.end(stream);
        return timer.seconds();
    };
    for (int repetition = -1; repetition < repetitions; ++repetition) {
        const double streamed = elapsed_of([&] {
            for (int launch = 0; launch < launches; ++launch) {
                with.kernels.empty(stream.get());
            }
        });
        const double graphed = elapsed_of([&] { many.launch(stream); });
        const double begin = monotonic_seconds();
        with.kernels.empty(stream.get());
        const double middle = monotonic_seconds();
        stream.synchronize();
        const double before = monotonic_seconds();
        one.launch(stream);
        const double after = monotonic_seconds();
        stream.synchronize();
        if (repetition >= 0) {  // the first round loads the kernel
            in_stream.push_back(streamed / launches);
            in_graph.push_back(graphed / launches);
            call_stream.push_back(middle - begin);
            call_graph.push_back(after - before);
        }
    }
    cuda::check_launch("an empty kernel");
    out.push_back(floor_of(with.device, "floor.launch_stream", median(in_stream),
                           fmt::format("{} empty kernels launched one after the other into a "
                                       "stream, device time of one, median",
                                       launches)));
    out.push_back(floor_of(with.device, "floor.launch_graph", median(in_graph),
                           fmt::format("graph of {} empty kernels in a row, device time of a "
                                       "node, median",
                                       launches)));
    out.push_back(floor_of(with.device, "floor.call_stream", median(call_stream),
                           "host time of one launch into an idle stream, median"));
    out.push_back(floor_of(with.device, "floor.call_graph", median(call_graph),
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

// A random cycle through all nodes (Sattolo's shuffle): every load waits for the one before.
std::vector<std::uint32_t> random_cycle(std::uint32_t nodes) {
    std::vector<std::uint32_t> order(nodes);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random(20);  // any fixed seed: the same cycle every time
    for (std::uint32_t i = nodes - 1; i > 0; --i) {
        std::swap(order[i], order[random() % i]);
    }
    return order;
}

struct Chase {
    std::string id;
    std::size_t footprint;
    std::uint32_t stride;
    int steps;
    bool warm;  ///< a whole round before, so that every node lies in the L2
};

void probe_latency(GpuSetting& with, const Chase& chase, std::vector<Ceiling>& out) {
    const auto nodes = static_cast<std::uint32_t>(chase.footprint / chase.stride);
    const auto order = random_cycle(nodes);
    const cuda::DeviceBuffer device_order(nodes * sizeof(std::uint32_t));
    cuda::upload(device_order.data(), order.data(), device_order.bytes());
    const cuda::DeviceBuffer buffer(chase.footprint);
    const cuda::DeviceBuffer at(sizeof(std::uint32_t));
    cuda::fill(at.data(), 0, at.bytes());
    const cuda::Stream& stream = with.timer.stream();
    cuda::synchronize();
    with.kernels.link(buffer.data(), reinterpret_cast<const std::uint32_t*>(device_order.data()),
                      nodes, chase.stride, stream.get());
    cuda::check_launch("the latency probe's set-up");
    stream.synchronize();
    if (!chase.warm) {
        // The links that the set-up wrote last would still lie in the L2.
        const cuda::DeviceBuffer other(4 * cuda::l2_bytes());
        cuda::fill(other.data(), 1, other.bytes());
        cuda::synchronize();
    }
    const auto follow = [&](GpuSpan* span, void* to) {
        with.kernels.chase(buffer.data(), reinterpret_cast<std::uint32_t*>(at.data()), chase.steps,
                           span, to);
        return static_cast<double>(chase.steps);
    };
    GpuPass pass = with.timer.best(follow, "");
    pass.seconds /= chase.steps;
    out.push_back(gpu_ceiling(chase.id, "s", pass, with.device,
                              fmt::format("pointer chase past L1 by one thread through a random "
                                          "cycle of {} nodes over {} MiB, shortest of several runs "
                                          "of {} steps",
                                          nodes, chase.footprint >> 20U, chase.steps)));
}

}  // namespace

void append_gpu_floor_steps(const Device& /*device*/, std::vector<GpuStep>& steps) {
    steps.push_back({"launch floors", probe_launches});
    steps.push_back({"CTA start and drain", probe_cta});
    steps.push_back(
        {"DRAM latency", [](GpuSetting& with, std::vector<Ceiling>& out) {
             probe_latency(with, {"latency.dram", std::size_t{1} << 30U, 256, 50'000, false}, out);
         }});
    // Small enough for any L2, each run a whole round: the first, uncounted one fills it.
    steps.push_back({"L2 latency", [](GpuSetting& with, std::vector<Ceiling>& out) {
                         probe_latency(
                             with, {"latency.l2", std::size_t{2} << 20U, 128, 16'384, true}, out);
                     }});
}

}  // namespace raceline::probe
