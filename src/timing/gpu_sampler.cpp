// SPDX-License-Identifier: Apache-2.0
// Samples on an NVIDIA GPU: time between two events of a stream, beside what the driver says.
#include <algorithm>
#include <limits>
#include <optional>

#include "support/statistics.hpp"
#include "timing/contenders.hpp"

namespace raceline {
namespace {

constexpr double poll_seconds = 2e-3;    // NVML answers no faster than this
constexpr double launch_seconds = 1e-5;  // a pair of events and a graph's own launch

class GpuSampler final : public Sampler {
public:
    GpuSampler(const cuda::Stream& stream, const TimingOptions& options)
        : stream_(stream), options_(options) {
        if (options.separate) {
            foreign_.emplace(2 * cuda::l2_bytes());
        }
    }

    void warm_up(std::span<const Contender> contenders) override {
        enqueue_seconds_.assign(contenders.size(), std::numeric_limits<double>::infinity());
        const double start = monotonic_seconds();
        do {
            for (std::size_t i = 0; i < contenders.size(); ++i) {
                const double begin = monotonic_seconds();
                contenders[i].enqueue(stream_.get());
                enqueue_seconds_[i] = std::min(enqueue_seconds_[i], monotonic_seconds() - begin);
                stream_.synchronize();
            }
        } while (monotonic_seconds() - start < options_.ramp_seconds);
        other_processes_ = nvml_.other_processes();
    }

    Sample take(const Contender& contender, std::size_t index) override {
        if (foreign_) {
            cuda::spin(stream_, 2 * enqueue_seconds_[index] + launch_seconds);
            foreign_->read(stream_);
        }
        timer_.begin(stream_);
        contender.enqueue(stream_.get());
        timer_.end(stream_);
        // While the sample runs: an idle GPU would report another clock.
        if (const double now = monotonic_seconds(); now - polled_ >= poll_seconds) {
            state_ = nvml_.read();
            polled_ = now;
        }
        Sample sample;
        sample.seconds = timer_.seconds();
        sample.seen.slowdowns = state_.slowed ? 1 : 0;
        sample.seen.other_processes = other_processes_;
        sample.clock_hz = state_.sm_clock_hz;
        sample.power_w = state_.power_w;
        sample.throttled = state_.throttled;
        return sample;
    }

    // On an idle stream.
    double call_seconds(const Contender& contender) override {
        if (!contender.call) {
            return 0;
        }
        constexpr int most = 31;
        std::vector<double> samples;
        const double start = monotonic_seconds();
        for (int i = 0; i < most && (i < 3 || monotonic_seconds() - start < 0.1); ++i) {
            const double begin = monotonic_seconds();
            contender.call(stream_.get());
            stream_.synchronize();
            samples.push_back(monotonic_seconds() - begin);
        }
        return median(samples);
    }

private:
    const cuda::Stream& stream_;
    const TimingOptions& options_;
    cuda::StreamTimer timer_;
    cuda::Nvml nvml_;
    std::optional<cuda::ForeignData> foreign_;
    std::vector<double> enqueue_seconds_;  // host time, of each contender
    cuda::ClockState state_;
    double polled_ = 0;
    int other_processes_ = 0;
};

}  // namespace

std::vector<Measurement> time_on_gpu(std::span<const Contender> contenders,
                                     const cuda::Stream& stream, const TimingOptions& options) {
    GpuSampler sampler(stream, options);
    return time_contenders(contenders, sampler, options);
}

}  // namespace raceline
