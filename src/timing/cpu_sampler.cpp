// SPDX-License-Identifier: Apache-2.0
// Samples on a CPU: calls by the clock on the wall, beside what else the cores were used for.
#include "timing/contenders.hpp"

namespace raceline {
namespace {

class CpuSampler final : public Sampler {
public:
    explicit CpuSampler(const std::function<Watch()>& make_watch) : make_watch_(make_watch) {}

    // Two samples warm up code, page tables and the thread pool; slow calls need no more.
    void warm_up(std::span<const Contender> contenders) override {
        for (int i = 0; i < 2; ++i) {
            for (const Contender& contender : contenders) {
                if (contender.prepare) {
                    contender.prepare();
                }
                contender.enqueue(nullptr);
            }
        }
        watch_ = make_watch_();
    }

    Sample take(const Contender& contender, std::size_t) override {
        Sample sample;
        const Usage before = watch_.usage();
        const double begin = watch_.seconds();
        contender.enqueue(nullptr);
        sample.seconds = watch_.seconds() - begin;
        sample.seen = watch_.usage() - before;
        since_clock_ += sample.seconds;
        // Reading the clock costs a millisecond: once in fifty of work, and at least once.
        if (clock_hz_ == 0 || since_clock_ > 0.05) {
            clock_hz_ = watch_.clock_hz();
            since_clock_ = 0;
        }
        sample.clock_hz = clock_hz_;
        return sample;
    }

private:
    const std::function<Watch()>& make_watch_;
    Watch watch_;
    double clock_hz_ = 0, since_clock_ = 0;
};

}  // namespace

Watch Watch::of_this_machine() {
    const auto reader = std::make_shared<UsageReader>();
    return {.seconds = monotonic_seconds,
            .usage = [reader] { return reader->read(); },
            .clock_hz = [] { return cpu_clock_hz(0.001); }};
}

std::vector<Measurement> time_on_cpu(std::span<const Contender> contenders,
                                     const TimingOptions& options,
                                     const std::function<Watch()>& watch) {
    CpuSampler sampler(watch);
    return time_contenders(contenders, sampler, options);
}

}  // namespace raceline
