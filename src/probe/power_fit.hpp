// SPDX-License-Identifier: Apache-2.0
// Joules and the slope of the voltage, from what a board draws under one load.
#pragma once

#include <optional>
#include <span>

namespace raceline::probe {

/// What one load drew on some of the SMs.
struct PowerPoint {
    double watts = 0;
    double clock_hz = 0;
    double rate = 0;  ///< units of work a second
};

/// A clock counts as the highest from this share of it on.
constexpr double at_highest_clock = 0.99;

/// Joules a unit of work: least squares of what is drawn above idling over the rate, through the
/// points at the highest clock. Throws Error(internal) if there is none.
double fit_joules(std::span<const PowerPoint> points, double idle_w, double highest_hz);

/// Relative fall of the voltage over that of the clock, from the load on half of the SMs, which the
/// power limit leaves alone, and on all, which it holds down: the clock of all is twice the
/// quotient of the rates, and what they draw less than rate × joules is the voltage squared.
/// Nothing where the limit did not hold the load down by five percent, or held down that on half of
/// the SMs, too.
std::optional<double> voltage_slope(const PowerPoint& half, const PowerPoint& all, double joules,
                                    double idle_w, double highest_hz);

}  // namespace raceline::probe
