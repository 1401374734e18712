// SPDX-License-Identifier: Apache-2.0
#include "timing/contenders.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>

#include "raceline/error.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

// A machine whose clock moves only when a contender runs, and which is disturbed when told so.
struct Machine {
    double now = 0;
    Usage used;
    std::vector<std::string> order;  // of all samples, warm-ups included
    double rested = 0;

    [[nodiscard]] Contender contender(std::string name, double seconds, int calls = 1) {
        Contender made;
        made.name = name;
        made.calls = calls;
        made.enqueue = [this, name, seconds](void*) {
            now += seconds;
            order.push_back(name);
        };
        return made;
    }
    [[nodiscard]] Watch watch() {
        return {.seconds = [this] { return now; },
                .usage = [this] { return used; },
                .clock_hz = [] { return 3e9; }};
    }
    std::vector<Measurement> time(std::vector<Contender> contenders, const TimingOptions& options) {
        return time_on_cpu(contenders, options, [this] { return watch(); });
    }
};

TimingOptions rounds(int count) {
    TimingOptions options;
    options.limits.min_samples = options.limits.max_samples = count;
    options.limits.min_seconds = 0;
    options.limits.max_seconds = 1e9;
    return options;
}

TEST(Contenders, TakeTurnsInRandomOrder) {
    Machine machine;
    const auto found =
        machine.time({machine.contender("a", 1), machine.contender("b", 2)}, rounds(64));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].seconds_median, 1);
    EXPECT_EQ(found[1].seconds_median, 2);
    EXPECT_EQ(found[0].samples, 64);
    EXPECT_EQ(found[1].samples, 64);
    // Without the two warm-ups of each: in each round both, and either of them first about equally.
    int first = 0;
    for (std::size_t i = 4; i < machine.order.size(); i += 2) {
        ASSERT_NE(machine.order[i], machine.order[i + 1]);
        first += machine.order[i] == "a" ? 1 : 0;
    }
    EXPECT_GT(first, 16);
    EXPECT_LT(first, 48);
}

TEST(Contenders, SamplesAreDividedByTheirCalls) {
    Machine machine;
    const auto found = machine.time({machine.contender("a", 1, 4)}, rounds(11));
    EXPECT_EQ(found[0].seconds_median, 0.25);
    EXPECT_EQ(found[0].seconds_call, 0.25);
    EXPECT_EQ(found[0].sm_clock_hz, 3e9);
    EXPECT_TRUE(found[0].settled);
    EXPECT_FALSE(found[0].unsettled);
}

TEST(Contenders, ADisturbedSampleCostsAllTheirRound) {
    Machine machine;
    Contender quiet = machine.contender("quiet", 1);
    Contender robbed = machine.contender("robbed", 1);
    int call = 0;
    robbed.enqueue = [&](void*) {
        const bool preempted = ++call > 2 && call % 4 == 0;  // after the warm-up
        machine.now += preempted ? 9 : 1;
        machine.used.preemptions += preempted ? 1 : 0;
    };
    const auto found = machine.time({quiet, robbed}, rounds(12));
    for (const Measurement& m : found) {
        EXPECT_EQ(m.seconds_median, 1);
        EXPECT_EQ(m.seconds_high, 1) << "a sample of 9 s counted";
        EXPECT_EQ(m.samples, 12);
        EXPECT_EQ(m.disturbed, 4);  // of the 16 rounds, of calls 3 to 18, calls 4, 8, 12 and 16
        EXPECT_THAT(m.disturbance, HasSubstr("4 of 16 samples were disturbed: preempted 4 times"));
        EXPECT_FALSE(m.unsettled);
    }
}

TEST(Contenders, WhereEverythingIsDisturbedTimeEndsAndTheRowIsUnsettled) {
    Machine machine;
    Contender robbed = machine.contender("robbed", 0);
    robbed.enqueue = [&](void*) {
        machine.now += 1;
        machine.used.stolen_seconds += 0.5;
    };
    TimingOptions options = rounds(1000);
    options.limits.max_seconds = 20;
    const auto found = machine.time({robbed, machine.contender("b", 1)}, options);
    EXPECT_EQ(found[0].disturbed, 10);  // half of 20 s for two
    EXPECT_EQ(found[1].disturbed, 20 / 2);
    EXPECT_TRUE(found[0].unsettled);
    EXPECT_TRUE(found[1].unsettled);
    EXPECT_FALSE(found[0].settled);
    EXPECT_THAT(found[1].disturbance, HasSubstr("stolen by the host"));
}

TEST(Contenders, AWideIntervalIsUnsettledAndOnlyThat) {
    Machine machine;
    Contender noisy = machine.contender("noisy", 0);
    int call = 0;
    noisy.enqueue = [&](void*) { machine.now += ++call % 2 == 0 ? 1 : 2; };
    const auto found = machine.time({machine.contender("steady", 1), noisy}, rounds(32));
    EXPECT_FALSE(found[0].unsettled);
    EXPECT_TRUE(found[0].settled);
    EXPECT_TRUE(found[1].unsettled);
    EXPECT_FALSE(found[1].settled);
    EXPECT_THAT(found[1].disturbance, HasSubstr("nothing was seen to disturb"));
}

TEST(Contenders, ASlowOneDoesNotWaitForAFastOnesShareOfTheTime) {
    Machine machine;
    Contender noisy = machine.contender("noisy", 0);
    int call = 0;
    noisy.enqueue = [&](void*) { machine.now += ++call % 2 == 0 ? 0.001 : 0.002; };
    TimingOptions options = rounds(1000);
    options.limits.min_samples = 3;
    options.limits.max_seconds = 10;
    const auto found = machine.time({machine.contender("slow", 1), noisy}, options);
    EXPECT_EQ(found[0].samples, 20);  // 10 s for each of two, all of it the slow one's
}

TEST(Contenders, EachSampleIsPreparedUntimed) {
    Machine machine;
    Contender contender = machine.contender("a", 1);
    std::vector<int> prepared, called;
    contender.prepare = [&] {
        machine.now += 10;
        prepared.push_back(static_cast<int>(prepared.size()));
    };
    contender.enqueue = [&](void*) {
        machine.now += 1;
        called.push_back(prepared.back());
    };
    const auto found = machine.time({contender}, rounds(5));
    EXPECT_EQ(found[0].seconds_median, 1);
    EXPECT_EQ(called, prepared);
    EXPECT_EQ(called.size(), 7U);  // two warm up
}

// What a machine of another kind shows, and how long it rests.
class Recorded final : public Sampler {
public:
    void warm_up(std::span<const Contender>) override {}
    Sample take(const Contender& contender, std::size_t index) override {
        contender.enqueue(nullptr);
        Sample sample;
        sample.seconds = 1.0 + static_cast<double>(index);
        sample.clock_hz = 1e9;
        sample.power_w = 600;
        sample.throttled = index == 1;
        return sample;
    }
    void rest(double seconds) override { rested += seconds; }
    double call_seconds(const Contender& contender) override { return contender.call ? 7 : 0; }
    double rested = 0;
};

TEST(Contenders, AloneTheDeviceRestsThreeTimesAsLongAsItWorked) {
    Machine machine;
    Recorded sampler;
    TimingOptions options = rounds(5);
    std::vector<Contender> two{machine.contender("a", 0), machine.contender("b", 0)};
    two[0].call = [](void*) {};
    const auto sustained = time_contenders(two, sampler, options);
    EXPECT_EQ(sampler.rested, 0);
    EXPECT_EQ(sustained[0].power_w, 600);
    EXPECT_EQ(sustained[0].seconds_call, 7);
    EXPECT_EQ(sustained[1].seconds_call, 2);
    EXPECT_FALSE(sustained[0].throttled);
    EXPECT_TRUE(sustained[1].throttled);
    options.regime = "alone";
    static_cast<void>(time_contenders(two, sampler, options));
    EXPECT_EQ(sampler.rested, 5 * 3 * (1 + 2));
}

TEST(Contenders, RefusesWhatCannotBeTimed) {
    Machine machine;
    const auto sentence = [&](std::vector<Contender> contenders, const TimingOptions& options) {
        try {
            static_cast<void>(machine.time(std::move(contenders), options));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(sentence({}, {}), HasSubstr("there are no contenders"));
    EXPECT_THAT(sentence({machine.contender("a", 1, 0)}, {}), HasSubstr("'a' has 0 calls"));
    EXPECT_THAT(sentence({Contender{.name = "a", .enqueue = {}}}, {}), HasSubstr("'a' has no"));
    TimingOptions idle;
    idle.regime = "idle";
    EXPECT_THAT(sentence({machine.contender("a", 1)}, idle), HasSubstr("regime 'idle'"));
}

// On this machine's own clock.
TEST(Contenders, RunByTheClockOnTheWall) {
    const auto spin = [](double seconds) {
        const double end = monotonic_seconds() + seconds;
        while (monotonic_seconds() < end) {
        }
    };
    TimingOptions options;
    options.limits.max_samples = 15;
    options.limits.min_seconds = 0;
    // The untimed half is ten times the timed one: if it leaked in, the median would show it.
    const Contender contender{
        .name = "spin", .enqueue = [&](void*) { spin(2e-4); }, .prepare = [&] { spin(2e-3); }};
    const Measurement m = time_on_cpu({&contender, 1}, options).front();
    EXPECT_GE(m.seconds_median, 2e-4);
    EXPECT_LT(m.seconds_median, 1e-3);
    EXPECT_LE(m.seconds_low, m.seconds_median);
    EXPECT_GE(m.seconds_high, m.seconds_median);
    EXPECT_GT(m.sm_clock_hz, 5e8);
    EXPECT_LT(m.sm_clock_hz, 8e9);
}

}  // namespace
}  // namespace raceline
