// SPDX-License-Identifier: Apache-2.0
// From the words of the command line to a device and a list of cases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "run/backend.hpp"
#include "run/run_case.hpp"

namespace raceline::cli {

/// How a command's cases are launched, by its options.
LaunchCase launch_case(const Options& options, const Device& device);

/// The device named, with its rates applied and threads restricted: live if this machine has it,
/// else from its datasheet. `replay:FILE` gives the device of the file.
Device select_device(const Options& options);

/// The same with the rates by which a call chooses its kernel: committed or datasheet ones,
/// whatever rates were named. Of a replayed file the file's.
Device select_device_of_calls(const Options& options);

/// The backend that runs cases; throws Error(no_device) if the device named is not live.
std::unique_ptr<Backend> select_backend(const Options& options);

std::vector<Workload> select_workloads(const Options& options, std::string* suite_name);

/// Whether the model's calibrated constants are used, also where it chooses a tile.
Calibration calibration_of(const Options& options);

/// A problem for each workload, with all that a case has but a kernel and a tile.
std::vector<Case> select_problems(const Options& options, const Device& device);

/// Workloads × kernels × tiles. A kernel that cannot run a shape appears once, for its refusal.
std::vector<Case> select_cases(const Options& options, const Device& device);

/// The same of a backend that answers from a file: of each problem the kernels and tiles that the
/// file has, unless they are named; without a shape and a suite all of the file's problems. Throws
/// Error(invalid_argument) for a problem, or a named kernel of it, that the file does not have.
std::vector<Case> select_cases(const Options& options, const Backend& backend);

/// The command that checks one case again, on the same inputs.
std::string command_of(const Case& which, const Device& device);

/// Names the commands that show failures again, the first eight of them.
void say_again(const std::vector<std::string>& commands);

}  // namespace raceline::cli
