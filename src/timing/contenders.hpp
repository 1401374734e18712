// SPDX-License-Identifier: Apache-2.0
// The one timing loop: of a kernel alone, or of several contenders that take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "timing/cuda_runtime.hpp"
#include "timing/measurement.hpp"
#include "timing/stop_rule.hpp"

namespace raceline {

/// Something to be timed. One sample is `calls` calls in a row.
struct Contender {
    std::string name;
    /// Puts one sample on the stream (a cudaStream_t). On a CPU the stream is null, and the calls
    /// have been made on return.
    std::function<void(void* stream)> enqueue;
    int calls = 1;
    /// Untimed, before each sample: pick the next inputs. May be empty.
    std::function<void()> prepare = {};
    /// GPU: one call, of which the host's time is taken. May be empty: then it is not known.
    std::function<void(void* stream)> call = {};
};

struct TimingOptions {
    StopLimits limits = {};
    /// "sustained" keeps the device at work; "alone" lets it rest after each sample three times as
    /// long as that took.
    std::string regime = "sustained";
    double ramp_seconds = 80e-3;  ///< GPU: of work before the first sample, so that clocks settle
    /// GPU: before each sample the L2 is read over with foreign data, and the stream held until the
    /// host has enqueued the sample. Whoever came before then leaves nothing behind that helps or
    /// hinders, and slow launches are not timed. Neither is part of the sample.
    bool separate = false;
    std::uint64_t order_seed = 1;  ///< of the order of contenders within a round
};

/// One sample, and what was seen while it was taken.
struct Sample {
    double seconds = 0;  ///< of all its calls
    Usage seen;
    double clock_hz = 0;  ///< 0: not known
    double power_w = 0;   ///< 0: not known
    bool throttled = false;
};

/// How a machine takes samples; tests put in their own.
class Sampler {
public:
    virtual ~Sampler() = default;
    /// Runs the contenders until code is loaded and clocks have settled.
    virtual void warm_up(std::span<const Contender> contenders) = 0;
    /// `index`: of the contender among those that were warmed up.
    virtual Sample take(const Contender& contender, std::size_t index) = 0;
    virtual void rest(double seconds);
    /// Host time of one call and the wait for it; 0: what a sample says of it.
    virtual double call_seconds(const Contender& contender);
};

/// One measurement for each contender, in their order. They take turns in random order. A round in
/// which one of them was disturbed counts for none, so that all have seen the same.
std::vector<Measurement> time_contenders(std::span<const Contender> contenders, Sampler& sampler,
                                         const TimingOptions& options);

/// Where the time and the disturbance of a CPU measurement come from; tests put in their own.
struct Watch {
    std::function<double()> seconds;
    std::function<Usage()> usage;
    std::function<double()> clock_hz;
    static Watch of_this_machine();  ///< made after the threads that are to be watched
};

/// By the clock on the wall. `watch` is asked for after the warm-up.
std::vector<Measurement> time_on_cpu(std::span<const Contender> contenders,
                                     const TimingOptions& options,
                                     const std::function<Watch()>& watch = Watch::of_this_machine);

/// By events on the stream. Clock and power are read while a sample runs: an idle GPU would report
/// another clock.
std::vector<Measurement> time_on_gpu(std::span<const Contender> contenders,
                                     const cuda::Stream& stream, const TimingOptions& options);

}  // namespace raceline
