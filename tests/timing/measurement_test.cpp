// SPDX-License-Identifier: Apache-2.0
#include "timing/measurement.hpp"

#include <atomic>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <span>
#include <thread>
#include <vector>

#include "receipt/rows.hpp"
#include "timing/contenders.hpp"

namespace raceline {
namespace {

void spin(double seconds) {
    const double end = monotonic_seconds() + seconds;
    while (monotonic_seconds() < end) {
    }
}

// A machine that a test decides: every call takes `seconds(i)`, and what it saw is `usage(i)`.
struct ScriptedMachine {
    std::function<double(int)> seconds;
    std::function<Usage(int)> usage = [](int) { return Usage{}; };
    double now = 0;
    Usage total = {};
    int calls = 0;

    Measurement measure() {
        const Contender one{.name = "one", .enqueue = [this](void*) {
                                now += seconds(calls);
                                total += usage(calls);
                                ++calls;
                            }};
        return time_on_cpu(std::span(&one, 1), {},
                           [this] {
                               return Watch{.seconds = [this] { return now; },
                                            .usage = [this] { return total; },
                                            .clock_hz = [] { return 3e9; }};
                           })
            .front();
    }
};

TEST(Disturbance, a_preempted_sample_is_dropped_and_counted) {
    ScriptedMachine machine{
        .seconds = [](int i) { return i % 3 == 0 ? 5e-3 : 1e-3; },
        .usage = [](int i) { return Usage{.preemptions = i % 3 == 0 ? 1 : 0}; }};
    const Measurement m = machine.measure();
    EXPECT_NEAR(m.seconds_median, 1e-3, 1e-9);
    EXPECT_NEAR(m.seconds_high, 1e-3, 1e-9);
    EXPECT_GT(m.disturbed, 3);
    EXPECT_EQ(m.disturbed + m.samples, machine.calls - 2);  // two warm it up
    EXPECT_FALSE(m.unsettled);
    EXPECT_NE(m.disturbance.find("preempted"), std::string::npos) << m.disturbance;
}

TEST(Disturbance, steal_and_waiting_count_and_a_short_wait_does_not) {
    EXPECT_TRUE(is_disturbed({.stolen_seconds = 0.01}, 1.0));
    EXPECT_TRUE(is_disturbed({.waited_seconds = 1e-3}, 1e-2));
    EXPECT_FALSE(is_disturbed({.waited_seconds = 1e-5}, 1e-4));  // what waking a thread takes
    EXPECT_FALSE(is_disturbed({.waited_seconds = 1e-3}, 1.0));
    EXPECT_TRUE(is_disturbed({.preemptions = 1}, 1.0)) << "who knows how long it waited";
    EXPECT_FALSE(is_disturbed({.preemptions = 3, .waited_seconds = 1e-3}, 1.0)) << "a thousandth";
    EXPECT_TRUE(is_disturbed({.preemptions = 1, .waited_seconds = 1e-5}, 1e-4)) << "a tenth";
    EXPECT_TRUE(is_disturbed({.slowdowns = 1}, 1.0));
    EXPECT_FALSE(is_disturbed({}, 1e-9));
}

// Nothing is left: a time is still reported, but it says itself that it counts for nothing.
TEST(Disturbance, where_every_sample_is_disturbed_the_row_is_unsettled_and_ends_early) {
    ScriptedMachine machine{.seconds = [](int) { return 0.05; },
                            .usage = [](int) { return Usage{.waited_seconds = 0.02}; }};
    const Measurement m = machine.measure();
    EXPECT_TRUE(m.unsettled);
    EXPECT_EQ(m.disturbed, m.samples);
    EXPECT_LE(machine.now, 0.7);  // half of the second that a measurement may last, and a warm-up
    EXPECT_NE(m.disturbance.find("without a core"), std::string::npos) << m.disturbance;
}

TEST(Disturbance, a_wide_interval_is_unsettled_and_a_narrow_one_is_not) {
    EXPECT_TRUE(summarize({1, 1.2, 1, 1.2, 1, 1.2}).unsettled);
    EXPECT_FALSE(summarize({1, 1.01, 1, 1.02, 1, 1.01}).unsettled);
    ScriptedMachine noisy{.seconds = [](int i) { return i % 2 == 0 ? 1e-3 : 3e-3; }};
    const Measurement m = noisy.measure();
    EXPECT_TRUE(m.unsettled);
    EXPECT_EQ(m.disturbed, 0);
    EXPECT_NE(m.disturbance.find("nothing was seen"), std::string::npos) << m.disturbance;
}

TEST(Disturbance, too_few_samples_are_said_to_be_too_few) {
    SampleLog log;
    log.add(1e-3, false, {});
    const Measurement m = log.summary();
    EXPECT_TRUE(m.unsettled);
    EXPECT_EQ(m.disturbance.rfind("1 sample is too few", 0), 0U) << m.disturbance;
}

// The reader of this machine moves: a busy neighbour on every core shows in one of its totals.
TEST(Disturbance, is_read_from_this_system) {
    const UsageReader reader;
    const Usage before = reader.read();
    spin(5e-3);
    const Usage seen = reader.read() - before;
    EXPECT_GE(seen.preemptions, 0);
    EXPECT_GE(seen.waited_seconds, 0);
    EXPECT_LT(seen.waited_seconds, 60);
}

// Three threads on one core: at any moment two of them wait, however busy the machine is.
TEST(Disturbance, threads_that_share_a_core_are_preempted_and_wait) {
    if (!std::ifstream("/proc/self/schedstat")) {
        GTEST_SKIP() << "this system does not say how long threads wait";
    }
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    std::atomic<bool> over = false;
    const auto work = [&] {
        while (!over) {
        }
    };
    std::thread second(work);
    std::thread third(work);
    constexpr double seconds = 0.3;
    const UsageReader reader;
    const Usage first = reader.read();
    spin(seconds);
    const Usage seen = reader.read() - first;
    over = true;
    second.join();
    third.join();
    EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
    EXPECT_GT(seen.preemptions, 0);
    EXPECT_GT(seen.waited_seconds, 1.5 * seconds);
    EXPECT_TRUE(is_disturbed(seen, seconds));
}

TEST(Measurement, survives_the_receipt) {
    Measurement m = summarize({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0});
    m.sm_clock_hz = 1.98e9;
    m.power_w = 512.5;
    m.settled = true;
    const Measurement back = row_from_json<Measurement>(row_to_json(m));
    EXPECT_EQ(back.seconds_median, 4.0);
    EXPECT_EQ(back.seconds_low, m.seconds_low);
    EXPECT_EQ(back.seconds_high, m.seconds_high);
    EXPECT_EQ(back.samples, 7);
    EXPECT_EQ(back.sm_clock_hz, 1.98e9);
    EXPECT_EQ(back.power_w, 512.5);
    EXPECT_TRUE(back.settled);
    EXPECT_EQ(back.unsettled, m.unsettled);
}

}  // namespace
}  // namespace raceline
