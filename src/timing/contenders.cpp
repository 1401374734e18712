// SPDX-License-Identifier: Apache-2.0
#include "timing/contenders.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "support/check.hpp"
#include "support/statistics.hpp"

namespace raceline {
namespace {

// What one contender's samples come to, beside their times.
struct Seen {
    SampleLog log;
    std::vector<double> clocks, powers;
    bool throttled = false;
};

void check_contenders(std::span<const Contender> contenders, const TimingOptions& options) {
    require(!contenders.empty(), Status::invalid_argument,
            "there are no contenders; at least one is needed");
    for (const Contender& contender : contenders) {
        require(contender.enqueue != nullptr, Status::invalid_argument,
                "contender '{}' has no function that enqueues a sample", contender.name);
        require(contender.calls >= 1, Status::invalid_argument,
                "contender '{}' has {} calls a sample; at least 1 is needed", contender.name,
                contender.calls);
    }
    require(options.regime == "sustained" || options.regime == "alone", Status::invalid_argument,
            "regime '{}' does not exist; it must be sustained or alone", options.regime);
}

void note(Seen& seen, const Sample& sample, int calls, const Usage& in_round, bool disturbed) {
    seen.log.add(sample.seconds / calls, disturbed, in_round);
    seen.clocks.push_back(sample.clock_hz);
    seen.powers.push_back(sample.power_w);
    seen.throttled = seen.throttled || sample.throttled;
}

}  // namespace

void Sampler::rest(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double Sampler::call_seconds(const Contender&) {
    return 0;
}

std::vector<Measurement> time_contenders(std::span<const Contender> contenders, Sampler& sampler,
                                         const TimingOptions& options) {
    check_contenders(contenders, options);
    const std::size_t count = contenders.size();
    const bool alone = options.regime == "alone";
    std::vector<double> call_seconds(count);
    std::transform(contenders.begin(), contenders.end(), call_seconds.begin(),
                   [&](const Contender& contender) { return sampler.call_seconds(contender); });
    sampler.warm_up(contenders);

    // The rule's time limits are about work on the clock, so it sees whole samples.
    StopRule rule(options.limits, count);
    std::vector<Seen> seen(count);
    std::vector<Sample> round(count);
    std::vector<double> seconds(count);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(options.order_seed);
    while (!rule.done()) {
        std::shuffle(order.begin(), order.end(), random);
        Usage in_round;
        bool disturbed = false;
        for (const std::size_t i : order) {
            if (contenders[i].prepare) {
                contenders[i].prepare();
            }
            round[i] = sampler.take(contenders[i], i);
            seconds[i] = round[i].seconds;
            in_round += round[i].seen;
            disturbed = disturbed || is_disturbed(round[i].seen, round[i].seconds);
            if (alone) {
                sampler.rest(3 * round[i].seconds);
            }
        }
        in_round.slowdowns =
            std::min(in_round.slowdowns, 1);  // each contender has one sample of it
        disturbed ? rule.drop(seconds) : rule.add(seconds);
        for (std::size_t i = 0; i < count; ++i) {
            note(seen[i], round[i], contenders[i].calls, in_round, disturbed);
        }
    }

    std::vector<Measurement> measurements;
    for (std::size_t i = 0; i < count; ++i) {
        Measurement m = seen[i].log.summary();
        m.seconds_call = call_seconds[i] > 0 ? call_seconds[i] : m.seconds_median;
        m.sm_clock_hz = median(seen[i].clocks);
        m.power_w = median(seen[i].powers);
        m.settled = rule.settled(i);
        // A clock that stands still is no measurement.
        m.throttled = seen[i].throttled || m.seconds_median <= 0;
        measurements.push_back(std::move(m));
    }
    return measurements;
}

}  // namespace raceline
