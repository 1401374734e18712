// SPDX-License-Identifier: Apache-2.0
// The clock as a result: what a launch's resources draw against what the board may take.
#pragma once

#include "device/device.hpp"

namespace raceline {

/// What a launch would draw at the highest clock, in watts.
struct PowerDraw {
    double chip_w = 0;  ///< falls with the clock and the voltage squared
    double memory_w =
        0;  ///< DRAM and its interface, at their own voltage: falls with the clock alone
};

/// Watts at a clock, as a share of the highest.
double watts_at(const Power& power, const PowerDraw& draw, double share_of_clock);

/// The highest clock in Hz at which the board keeps its limit; the device's highest where that is
/// not known, and never under a fifth of it.
double clock_within_limit(const Device& device, const PowerDraw& draw);

/// Watts that one resource draws when it does nothing but `id`, at the device's rate for it and at
/// the highest clock. 0 where its energy is not known.
PowerDraw draw_of(const Device& device, std::string_view id, double amount_per_second);

}  // namespace raceline
