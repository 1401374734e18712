// SPDX-License-Identifier: Apache-2.0
// What a board draws while loads run on parts of it, by its own energy counter (NVML).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "probe/gpu_steps.hpp"

namespace raceline::probe {

/// Work of one kind on `sms` of the device's SMs.
struct Load {
    std::string resource;
    std::string unit;  ///< what a joule is spent on: byte, flop, op
    /// Enqueues `rounds` rounds on a stream; returns the units of work that they do.
    std::function<double(int sms, int rounds, GpuSpan*, void* stream)> run;
};

struct LoadPart {
    const Load* load = nullptr;
    int sms = 0;
};

/// What loads drew that ran for a while, each on a stream of its own.
struct Drawn {
    double watts = 0;
    double clock_hz = 0;
    std::vector<double> rates;  ///< work a second, by load
};

class PowerMeter {
public:
    explicit PowerMeter(GpuSetting& with) : with_(with) {}

    /// All parts at once, without a gap, for `seconds`. The first third is left out: power and
    /// clock settle in it. Throws Error(internal) if the energy counter stands still.
    Drawn draw(const std::vector<LoadPart>& parts, double seconds);
    /// The enforced limit; 0 if the driver does not tell it.
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

}  // namespace raceline::probe
