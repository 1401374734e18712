// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "model/counts.hpp"
#include "support/json.hpp"
#include "support/statistics.hpp"

namespace raceline {

/// Layer 1: time per resource = work / ceiling; the largest is the bound and names the limiter.
struct Roofline {
    std::map<std::string, double> seconds;  ///< by resource
    std::string limiter;
    double bound_seconds = 0;
    double arithmetic_intensity = 0;  ///< flops / DRAM bytes
    double ridge = 0;                 ///< of the engine that the kernel uses, flop/byte
    double ridge_best = 0;            ///< of the best engine on the chip, flop/byte
};
Roofline roofline(const Device& device, std::span<const Counts> launches);

/// How the call is launched; picks the floor. "stream", "graph" (GPU), "parallel" (CPU).
struct LaunchCase {
    bool cold = true;
    std::string launch_path = "stream";
    int threads = 0;  ///< CPU threads; 0: all
    /// "sustained": call upon call, so that power decides the clock; "alone": a GPU rests between
    /// samples. A product differs by a tenth between them.
    std::string regime = "sustained";
};

struct Prediction {
    double seconds = 0;  ///< layer 2
    std::string limiter;
    Roofline layer1;
    std::vector<std::pair<std::string, double>> layer2;  ///< terms in order; they sum to seconds
    std::optional<Interval> band;
    std::string rates_id;
    double sm_clock_hz = 0;
    std::string model_hash;  ///< SHA-256 of src/model and the kernel's record, from the build
};

/// Both layers. Pure: no clock, no file, no global. Throws Error(unsupported) if the device lacks a
/// resource that the kernel needs.
Prediction predict(const Device& device, std::span<const Counts> launches, const LaunchCase& how);

Json prediction_to_json(const Prediction& prediction);
Prediction prediction_from_json(const Json& object);

}  // namespace raceline
