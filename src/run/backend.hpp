// SPDX-License-Identifier: Apache-2.0
// Where a case runs. run_case and everything above it see only this.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/prediction.hpp"
#include "registry/kernel.hpp"
#include "run/gate.hpp"
#include "timing/measurement.hpp"
#include "timing/stop_rule.hpp"
#include "workload/normal.hpp"

namespace raceline {

struct CaseOptions {
    LaunchCase how;
    std::uint64_t seed = 1;
    StopLimits limits;
    /// What the gate draws; empty: every kind. What is timed is plain.
    std::vector<Draw> draws;
};

/// A time, and the verdict on the very outputs that were written while it was taken.
struct Timed {
    Measurement measurement;
    Correctness outputs;
};

class Backend {
public:
    virtual ~Backend() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;  ///< cpu, cuda, replay
    [[nodiscard]] virtual const Device& device() const = 0;
    /// Of a backend that answers from a file: the problems that it has, each once. Else none.
    [[nodiscard]] virtual std::vector<Workload> workloads() const { return {}; }
    /// And its cases: problems by kernel, tile, threads, launch path and caches.
    [[nodiscard]] virtual std::size_t case_count() const { return 0; }
    /// Whether it can answer for this case.
    [[nodiscard]] virtual bool holds(const Kernel& /*kernel*/, int /*tile*/,
                                     const Workload& /*workload*/,
                                     const CaseOptions& /*options*/) const {
        return true;
    }
    /// Runs the gate on each of the draws, with their traps and poisoned outputs. Never throws for
    /// a wrong answer or a failing launch: the verdict says so.
    virtual Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                              const CaseOptions& options) = 0;
    /// Times the launches and nothing else, as section 6 of the design defines it.
    virtual Timed measure(const Kernel& kernel, int tile, const Workload& workload,
                          const CaseOptions& options) = 0;

protected:
    /// Seed of the inputs of one kind: kinds share no random numbers.
    static std::uint64_t seed_of(const CaseOptions& options, Draw draw) {
        return stream_key(options.seed, static_cast<std::uint64_t>(draw));
    }
};

/// The verdict on all draws (of those that the operation has, if none is asked for), by what `one`
/// says of each; stops at the first that fails, and turns what it throws into a verdict.
Correctness check_draws(const CaseOptions& options, const Workload& workload,
                        const std::function<Correctness(Draw)>& one);

std::unique_ptr<Backend> make_cpu_backend(Device device);
/// Throws Error(no_device) in a build without CUDA.
std::unique_ptr<Backend> make_cuda_backend(Device device);
/// Answers from the measurement rows of a receipt file: same kernel, tile, workload and case.
std::unique_ptr<Backend> make_replay_backend(const std::string& receipt_path);

}  // namespace raceline
