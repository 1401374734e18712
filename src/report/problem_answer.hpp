// SPDX-License-Identifier: Apache-2.0
// What `raceline predict` answers about one problem: the kernel that a call would run, its time,
// why it takes that, and what would help.
#pragma once

#include <string>
#include <vector>

#include "report/what_helps.hpp"
#include "run/run_case.hpp"

namespace raceline {

/// Of the time: what is less is not worth a line of its own, and no gain.
inline constexpr double least_share = 0.005;

/// A part of a predicted time.
struct TimeTerm {
    std::string name;  ///< as in Prediction::layer2, or a resource
    double seconds = 0;
    double share = 0;  ///< of the model's time
};

struct ProblemAnswer {
    Case which;                     ///< kernel null: nothing serves the problem
    bool by_api = true;             ///< the kernel is what a call runs; else it was named
    std::string refusal;            ///< why nothing serves it, in one line
    SpeedOfLight bound;             ///< of the problem
    ExplainedPrediction explained;  ///< of the kernel; empty where there is none
    std::vector<TimeTerm> terms;    ///< of the schedule, the longest first; they sum to the time
    std::vector<TimeTerm> beside;   ///< resources whose work lies beside these, the longest first
    WhatHelps helps;
    /// Kernels that take this problem on other devices, and why not on this one, in a sentence;
    /// where the kernel is far from the bound. Empty: there are none.
    std::string made_for_others;
    /// The kernel is far from the bound, and others of this device do not take this problem.
    bool others_refuse = false;
    std::string too_large;  ///< why a call of it would be refused there for want of memory, or ""
    std::string not_compiled;  ///< why no build of the kernel is for the device, or ""
    /// A short call on a board whose launch floor is not known: it counts as nothing.
    bool without_floor = false;

    [[nodiscard]] bool served() const { return which.kernel != nullptr; }
};

/// Of `problem`'s workload and way of launching, whatever its kernel and tile: the kernel and tile
/// are those that a call would take on a device with the rates of `of_calls`, the times those of
/// `device`.
ProblemAnswer answer_problem(const Case& problem, const Device& device, const Device& of_calls,
                             Calibration calibration);

/// The same of the kernel and tile that the case names.
ProblemAnswer answer_case(const Case& which, const Device& device, Calibration calibration);

}  // namespace raceline
