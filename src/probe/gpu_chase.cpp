// SPDX-License-Identifier: Apache-2.0
#include "probe/gpu_chase.hpp"

#include <numeric>
#include <random>
#include <utility>

namespace raceline::probe {

std::vector<std::uint32_t> random_cycle(std::uint32_t nodes) {
    std::vector<std::uint32_t> order(nodes);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random(20);  // any fixed seed: the same cycle every time
    for (std::uint32_t i = nodes - 1; i > 0; --i) {
        std::swap(order[i], order[random() % i]);
    }
    return order;
}

GpuPass chase_pass(GpuSetting& with, const Chase& chase) {
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
    return pass;
}

}  // namespace raceline::probe
