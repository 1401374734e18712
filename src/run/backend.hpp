// SPDX-License-Identifier: Apache-2.0
// Where a case runs. run_case and everything above it see only this.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/prediction.hpp"
#include "registry/kernel.hpp"
#include "run/gate.hpp"
#include "timing/measurement.hpp"

namespace raceline {

struct CaseOptions {
    LaunchCase how;
    std::uint64_t seed = 1;
    StopLimits limits;
};

class Backend {
public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;  ///< cpu, cuda, replay
    [[nodiscard]] virtual const Device& device() const = 0;
    /// Runs the gate: several seeds of inputs with their traps, poisoned output. Never throws for a
    /// wrong answer or a failing launch: the verdict says so.
    virtual Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                              const CaseOptions& options) = 0;
    /// Times the launches and nothing else, as section 6 of the design defines it.
    virtual Measurement measure(const Kernel& kernel, int tile, const Workload& workload,
                                const CaseOptions& options) = 0;
};

std::unique_ptr<Backend> make_cpu_backend(Device device);
/// Throws Error(no_device) in a build without CUDA.
std::unique_ptr<Backend> make_cuda_backend(Device device);
/// Answers from the measurement rows of a receipt file: same kernel, tile, workload and case.
std::unique_ptr<Backend> make_replay_backend(const std::string& receipt_path);

}  // namespace raceline
