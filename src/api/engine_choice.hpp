// SPDX-License-Identifier: Apache-2.0
// Which kernel and tile run a call: the model's answer, remembered per shape.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/tensor_checks.hpp"
#include "device/device.hpp"
#include "model/prediction.hpp"
#include "registry/kernel.hpp"
#include "workload/combine_call.hpp"
#include "workload/workload.hpp"

namespace raceline::api {

struct EngineChoice {
    const Kernel* kernel = nullptr;
    int tile = 0;
    const Device* device = nullptr;  ///< lives as long as the process
};

/// How the API launches on such a device: what the model is asked about.
LaunchCase launch_case(const Device& device, int threads);

/// What may be chosen from: `backend` by name if given (ladder rungs too), else every engine.
struct Candidates {
    std::string_view backend;
    bool must_run = true;  ///< code for it is compiled in; a prediction does not need it
};

/// The least time over all candidates, ties to the first listed: of each its best tile's predicted
/// time, less what its predictions on this device have been off by (committed_errors). Throws
/// Error(unsupported) with every candidate's reason if none serves the workload.
EngineChoice choose_engine(const Workload& workload, const Device& device, int threads,
                           const Candidates& candidates);

/// The most threads that a call may ask for.
inline constexpr int most_threads = 4096;

/// The device of a place as the API sees it: found once, with committed or datasheet rates, only
/// `threads` cores of a CPU (0: all). Throws Error(no_device).
const Device& device_of(Place place, int threads);

/// The choice of a call with this workload: choose_engine for its representative, or for the very
/// workload if that choice does not serve it.
EngineChoice decide_engine(const Workload& workload, const Device& device, int threads,
                           const Candidates& candidates);

/// decide_engine for a prediction: what a call with this workload would run on such a device,
/// whether its code is in this build or not; nothing if no engine serves the workload. `device` has
/// the rates that calls choose by (committed or datasheet).
std::optional<EngineChoice> engine_of_call(const Workload& workload, const Device& device,
                                           int threads);

/// Why no engine serves a workload on a device: kernels by reason, without rungs of the ladder and
/// kernels of other operations. Of kernels for another kind of device only where there is no
/// other.
std::map<std::string, std::vector<std::string_view>> reasons_of_engines(const Workload& workload,
                                                                        const Device& device);

/// decide_engine, remembered: shapes that are nearly alike share one decision, which depends on
/// the shape alone, never on the order of calls. Safe to call from several threads.
EngineChoice remembered_engine(const Workload& workload, Place place, int threads,
                               std::string_view backend);

/// The same for a call of `combine`, as for contiguous tensors and an output of the parts' type.
EngineChoice remembered_combine(const CombineCall& call, Place place, int threads);

/// Rounded up to four significant bits: what shapes that share a decision have in common.
std::int64_t rounded_size(std::int64_t size);

/// The workload that decides for all that share a decision with `workload`.
Workload representative(const Workload& workload);

}  // namespace raceline::api
