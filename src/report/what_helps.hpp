// SPDX-License-Identifier: Apache-2.0
// What would make a case faster, as the model sees it: the same launches on a device that does a
// tenth more of something, and how well they fill the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/run_case.hpp"

namespace raceline {

/// The model's time with a tenth more of one resource.
struct RateGain {
    std::string resource;
    double seconds = 0;
    double saved = 0;      ///< of the time without it, a fraction
    std::string in_place;  ///< the term that grew most instead, where that is not next to nothing
    double clock_hz = 0;   ///< what the board's power allows with it; 0 where no power is modelled
};

/// How the launch that takes longest lies on the device.
struct LaunchFill {
    std::int64_t ctas = 0;
    std::int64_t at_once = 1;  ///< CTAs that the device holds
    std::int64_t a_unit = 1;   ///< of them on one unit
    double imbalance = 1;      ///< work of the heaviest CTA over the mean
    [[nodiscard]] double waves() const {
        return static_cast<double>(ctas) / static_cast<double>(at_once);
    }
};

struct WhatHelps {
    std::vector<RateGain> rates;   ///< of every resource that the launches use, largest first
    double saved_by_all = 0;       ///< by a tenth more of every rate and of the clock, a fraction
    double saved_by_launches = 0;  ///< by floors of launches and of CTAs that are a tenth lower
    double graph_seconds = 0;      ///< launched by a graph; 0: it is, or there are none
    LaunchFill fill;
};

/// Work that lies wholly beside the terms of a prediction, and is among none of its resources: it
/// decides for nothing until another resource is faster.
struct HiddenWork {
    std::string resource;
    double seconds = 0;
};

/// The work that takes the place of the busiest resource, the limiter if that is one, where the
/// device does a tenth more of it.
std::optional<HiddenWork> hidden_work(const Case& which, const Device& device,
                                      const Prediction& prediction);

/// The device with `factor` times the rate of a resource of predictions ("flop.wgmma.bf16",
/// "dram"), of the whole device and of a unit, lasting and burst.
Device with_rate_of(Device device, std::string_view resource, double factor);

/// Throws as predict_case does.
WhatHelps what_helps(const Case& which, const Device& device,
                     Calibration calibration = Calibration::used);

}  // namespace raceline
