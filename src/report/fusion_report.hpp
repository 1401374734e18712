// SPDX-License-Identifier: Apache-2.0
// What fusing a chain of operations saves: its bytes, intensity and time, in parts and as one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "receipt/values.hpp"
#include "support/text_style.hpp"
#include "workload/fusion.hpp"

namespace raceline {

/// Of a part, or of the fused chain.
struct FusionTime {
    std::string kernel;      ///< that runs it; empty: none
    double predicted = 0;    ///< seconds; 0: not known
    double measured = 0;     ///< seconds; 0: not measured
    std::string why_not{};   ///< why no kernel runs it
    bool unsettled = false;  ///< it was measured, but no time settled
};

/// Bounds of a chain on a device.
struct FusionBounds {
    std::vector<SpeedOfLight> parts;  ///< as the fusion lists them
    SpeedOfLight fused;
    double before = 0;         ///< seconds of all parts, one after the other
    double before_cached = 0;  ///< the same with the score matrix in the last-level cache; 0: none
};
FusionBounds bounds_of(const Fusion& fusion, const Device& device, const LaunchCase& how);

/// What the API would run for each part and for the fused chain, and how long it would take.
std::vector<FusionTime> predicted_times(const Fusion& fusion, const Device& device,
                                        const LaunchCase& how);

/// A table of the parts, their sum and the fused chain, and what fusing saves. `times` has one
/// entry a part and one more for the fused chain.
std::string fusion_text(const Fusion& fusion, const Device& device, const LaunchCase& how,
                        std::span<const FusionTime> times, const TextStyle& style = {});

}  // namespace raceline
