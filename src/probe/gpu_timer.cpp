// SPDX-License-Identifier: Apache-2.0
#include "probe/gpu_timer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "support/statistics.hpp"

namespace raceline::probe {

GpuTimer::GpuTimer(const GpuKernels& kernels, bool quick) : kernels_(kernels), quick_(quick) {
    cuda::fill(span_.data(), 0, span_.bytes());
    cuda::synchronize();
}

// Kernels without a reading of their own (the driver's fills and copies) fall back to NVML.
double GpuTimer::span_clock_hz() {
    GpuSpan span;
    cuda::download(&span, span_.data(), sizeof(span));
    cuda::fill(span_.data(), 0, sizeof(span));
    cuda::synchronize();  // the fill runs on another stream than the next kernel
    // In less than 0.2 ms the wall clock's own steps of up to 1 µs would show.
    if (span.nanoseconds >= 200'000) {
        return static_cast<double>(span.cycles) / static_cast<double>(span.nanoseconds) * 1e9;
    }
    return nvml_.read().sm_clock_hz;
}

// A kernel that waits goes first: begin, launch and end are then queued before the device reaches
// them, and the host's time for the launch is not in the reading.
GpuPass GpuTimer::once(const GpuLaunch& launch) {
    kernels_.wait(50, stream_.get());
    timer_.begin(stream_);
    const double work = launch(reinterpret_cast<GpuSpan*>(span_.data()), stream_.get());
    timer_.end(stream_);
    cuda::check_launch("a probe's kernel");
    const cuda::ClockState state = nvml_.read();  // while the kernel runs
    GpuPass pass;
    pass.seconds = timer_.seconds();
    pass.rate = work / pass.seconds;
    pass.clock_hz = span_clock_hz();
    pass.power_w = state.power_w;
    return pass;
}

GpuPass GpuTimer::best(const GpuLaunch& launch, const std::string& variant) {
    const int repetitions = quick_ ? 2 : 6;
    once(launch);
    GpuPass found;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        found = better(found, once(launch));
    }
    found.variant = variant;
    return found;
}

int GpuTimer::rounds_for(const GpuLoop& loop, double seconds) {
    int rounds = 8;
    for (;;) {
        const GpuPass pass =
            once([&](GpuSpan* span, void* stream) { return loop(rounds, span, stream); });
        if (pass.seconds >= 0.8 * seconds || rounds > (1 << 26)) {
            return rounds;
        }
        // At most 16-fold: a launch of a few microseconds says little about a long one.
        const double grow = std::clamp(seconds / pass.seconds, 1.25, 16.0);
        rounds = static_cast<int>(std::ceil(rounds * grow));
    }
}

GpuPass GpuTimer::best_loop(const GpuLoop& loop, double seconds, const std::string& variant) {
    const int rounds = rounds_for(loop, seconds);
    return best([&](GpuSpan* span, void* stream) { return loop(rounds, span, stream); }, variant);
}

GpuPass GpuTimer::burst(const GpuLoop& loop, double seconds, const std::string& variant) {
    const int repetitions = quick_ ? 2 : 8;
    const int rounds = rounds_for(loop, seconds);
    GpuPass found;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        found = better(
            found, once([&](GpuSpan* span, void* stream) { return loop(rounds, span, stream); }));
    }
    found.variant = variant;
    return found;
}

GpuPass GpuTimer::sustained(const GpuLoop& loop, double seconds, const std::string& variant) {
    constexpr double launch_seconds = 0.01;  // long against its own start
    constexpr int launches_per_window = 4;
    const int rounds = rounds_for(loop, launch_seconds);
    const int windows =
        std::max(2, static_cast<int>(seconds / (launch_seconds * launches_per_window)));
    std::vector<GpuPass> later;
    // Two timers take turns: a window's launches are queued before the last one's end is waited
    // for, so that the chip is never idle.
    cuda::StreamTimer timers[2];
    double work[2] = {};
    double power[2] = {};
    auto* span = reinterpret_cast<GpuSpan*>(span_.data());
    const auto enqueue = [&](int window) {
        const int slot = window % 2;
        work[slot] = 0;
        timers[slot].begin(stream_);
        for (int launch = 0; launch < launches_per_window; ++launch) {
            work[slot] += loop(rounds, span, stream_.get());
        }
        timers[slot].end(stream_);
        cuda::check_launch("a sustained probe's kernel");
        power[slot] = nvml_.read().power_w;
    };
    enqueue(0);
    for (int window = 0; window < windows; ++window) {
        if (window + 1 < windows) {
            enqueue(window + 1);
        }
        const int slot = window % 2;
        const double elapsed = timers[slot].seconds();
        if (window >= windows / 2) {
            later.push_back({work[slot] / elapsed, elapsed, 0, power[slot], variant});
        }
    }
    std::vector<double> rates;
    std::vector<double> watts;
    for (const GpuPass& pass : later) {
        rates.push_back(pass.rate);
        watts.push_back(pass.power_w);
    }
    return {median(rates), later.back().seconds, span_clock_hz(), median(watts), variant};
}

const GpuPass& better(const GpuPass& left, const GpuPass& right) {
    return right.rate > left.rate ? right : left;
}

}  // namespace raceline::probe
