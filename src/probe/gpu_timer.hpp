// SPDX-License-Identifier: Apache-2.0
// The repetitions of a GPU probe: launches timed by events, the best of them, the clock beside.
#pragma once

#include <functional>
#include <string>

#include "device/device.hpp"
#include "probe/gpu.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline::probe {

/// One probed point.
struct GpuPass {
    double rate = 0;  ///< work a second
    double seconds = 0;
    double clock_hz = 0;  ///< SM clock while it ran
    double power_w = 0;
    std::string variant;  ///< in words: grid, unroll, …
};

/// Enqueues one launch and returns its work.
using GpuLaunch = std::function<double(GpuSpan* span, void* stream)>;
/// As above, with the number of rounds of the kernel's loop.
using GpuLoop = std::function<double(int rounds, GpuSpan* span, void* stream)>;

/// What all parts of the GPU probe share: stream, events, clock readings.
class GpuTimer {
public:
    GpuTimer(const GpuKernels& kernels, bool quick);

    /// The fastest of some launches, after one that is not counted.
    GpuPass best(const GpuLaunch& launch, const std::string& variant);
    /// The fastest launch with as many rounds as make it last `seconds`.
    GpuPass best_loop(const GpuLoop& loop, double seconds, const std::string& variant);
    /// The fastest of some launches of `seconds`, each after a pause in which the chip cools and
    /// its clock recovers.
    GpuPass burst(const GpuLoop& loop, double seconds, const std::string& variant);
    /// Launches without a gap for `seconds`; the rate of the later half, in which power and clock
    /// have settled.
    GpuPass sustained(const GpuLoop& loop, double seconds, const std::string& variant);

    /// With so many rounds one launch lasts about `seconds`.
    int rounds_for(const GpuLoop& loop, double seconds);

    [[nodiscard]] const cuda::Stream& stream() const { return stream_; }
    [[nodiscard]] bool quick() const { return quick_; }

private:
    GpuPass once(const GpuLaunch& launch);
    double span_clock_hz();

    const GpuKernels& kernels_;
    bool quick_;
    cuda::Stream stream_;
    cuda::StreamTimer timer_;
    cuda::DeviceBuffer span_{sizeof(GpuSpan)};
    cuda::Nvml nvml_;
};

/// The better of two passes, by rate.
const GpuPass& better(const GpuPass& left, const GpuPass& right);

}  // namespace raceline::probe
