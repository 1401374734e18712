// SPDX-License-Identifier: Apache-2.0
#include "probe/power_meter.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "support/check.hpp"

namespace raceline::probe {
namespace {

constexpr double launch_seconds = 0.01;  // long against its own start

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

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
Drawn PowerMeter::draw(const std::vector<LoadPart>& parts, double seconds) {
    std::vector<std::unique_ptr<cuda::Stream>> streams;
    std::vector<std::unique_ptr<cuda::StreamTimer>> timers;
    std::vector<double> work(parts.size());
    std::vector<int> rounds;
    auto* span = reinterpret_cast<GpuSpan*>(span_.data());
    for (const LoadPart& part : parts) {
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

}  // namespace raceline::probe
