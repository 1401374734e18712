// SPDX-License-Identifier: Apache-2.0
#include "run/past_errors.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "run/run_case.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using build_info::EmbeddedResidual;

Device named(const std::string& id, const std::string& name) {
    Device device;
    device.id = id;
    device.name = name;
    return device;
}

TEST(PastErrors, BandOfThisKernelDeviceAndRegimeAlone) {
    const std::vector<EmbeddedResidual> past(20,
                                             {"h200", "NVIDIA H200", "simt", true, 0, 1e-3, -0.5});
    const PastErrors errors(past);
    const Device h200 = named("h200", "H200 SXM");  // a datasheet's name for it
    const Interval band = errors.band("simt", h200, true, 3e-3).value_or(Interval{});
    EXPECT_DOUBLE_EQ(band.low, 6e-3);  // measurements were twice the prediction
    EXPECT_DOUBLE_EQ(band.high, 6e-3);
    EXPECT_FALSE(errors.band("naive", h200, true, 3e-3));
    EXPECT_FALSE(errors.band("simt", named("h100-sxm", "H100"), true, 3e-3));
    EXPECT_FALSE(errors.band("simt", h200, false, 3e-3));
    EXPECT_FALSE(errors.band("simt", h200, true, 30e-6));
}

TEST(PastErrors, NoneBelowTwentyInTheRegime) {
    std::vector<EmbeddedResidual> past(19, {"h200", "", "simt", true, 0, 1e-3, -0.5});
    past.insert(past.end(), 19, {"h200", "", "simt", true, 0, 30e-6, -0.5});
    EXPECT_FALSE(PastErrors(past).band("simt", named("h200", ""), true, 1e-3));
}

TEST(PastErrors, OlderModelsCountOnlyWhereTheNewestHaveTooFew) {
    std::vector<EmbeddedResidual> past(20, {"h200", "", "simt", true, 1, 1e-3, -0.5});
    past.insert(past.end(), 30, {"h200", "", "simt", true, 2, 1e-3, 3});
    past.insert(past.end(), 19, {"h200", "", "simt", true, 0, 1e-3, 0});
    const Device h200 = named("h200", "");
    Interval band = PastErrors(past).band("simt", h200, true, 1).value_or(Interval{});
    EXPECT_DOUBLE_EQ(band.low, 1);
    EXPECT_DOUBLE_EQ(band.high, 2);
    past.push_back(past.back());
    band = PastErrors(past).band("simt", h200, true, 1).value_or(Interval{});
    EXPECT_DOUBLE_EQ(band.low, 1);
    EXPECT_DOUBLE_EQ(band.high, 1);
}

TEST(PastErrors, TheSharedErrorIsTakenOut) {
    std::vector<EmbeddedResidual> past(19, {"h200", "", "simt", true, 0, 1e-3, -0.5});
    const Device h200 = named("h200", "");
    EXPECT_DOUBLE_EQ(PastErrors(past).expected("simt", h200, true, 1e-3), 1e-3) << "too few";
    past.push_back({"h200", "", "simt", true, 0, 1e-3, 4});
    const PastErrors errors(past);
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 1e-3), 2e-3);
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 1e-6), 2e-6) << "of another regime";
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, false, 1e-3), 1e-3);
    EXPECT_DOUBLE_EQ(errors.expected("naive", h200, true, 1e-3), 1e-3);
    past.insert(past.end(), 20, {"h200", "", "simt", true, 0, 1e-6, 0.25});
    EXPECT_DOUBLE_EQ(PastErrors(past).expected("simt", h200, true, 1e-6), 0.8e-6) << "its own";
}

// A fourth of them may be of another kind, as those of calls that wait.
TEST(PastErrors, ThatMuchIsTakenOutAsThreeOfFourAgreeOn) {
    const Device h200 = named("h200", "");
    const auto expected_with = [&](int count, double first, double others) {
        std::vector<EmbeddedResidual> past(20, {"h200", "", "simt", true, 0, 1e-3, others});
        std::fill_n(past.begin(), count,
                    EmbeddedResidual{"h200", "", "simt", true, 0, 1e-3, first});
        return PastErrors(past).expected("simt", h200, true, 1e-3);
    };
    EXPECT_DOUBLE_EQ(expected_with(4, -0.1, -0.5), 2e-3);
    EXPECT_DOUBLE_EQ(expected_with(6, -0.1, -0.5), 1e-3 / 0.9) << "no more than all of them need";
    EXPECT_DOUBLE_EQ(expected_with(6, 0.25, 1), 0.8e-3);
    EXPECT_DOUBLE_EQ(expected_with(6, -0.5, 1), 1e-3) << "they agree on nothing";
}

// One's errors may change within a regime: short calls miss what long ones have little of.
TEST(PastErrors, ItIsOfTheNearestTwentyByRatio) {
    std::vector<EmbeddedResidual> past;
    for (int i = 0; i < 20; ++i) {
        past.push_back({"h200", "", "simt", true, 0, 80e-6 + 1e-8 * i, -0.5});
        past.push_back({"h200", "", "simt", true, 0, 21e-6 + 1e-8 * i, 1});
        past.push_back({"h200", "", "simt", true, 0, 900e-6 + 1e-8 * i, 3});
    }
    const PastErrors errors(past);
    const Device h200 = named("h200", "");
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 85e-6), 170e-6);
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 105e-6), 210e-6) << "over the border";
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 24e-6), 12e-6);
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 5e-6), 2.5e-6);
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 5), 1.25);
    // 300 µs are 3 times 900's and 3.7 times 80's.
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 300e-6), 75e-6);
    EXPECT_DOUBLE_EQ(errors.expected("simt", h200, true, 250e-6), 500e-6);
}

// What a mended model got wrong before it was mended is not taken out of what it says now.
TEST(PastErrors, OnlyTheNewestModelsThatMakeUpTwentyCount) {
    std::vector<EmbeddedResidual> past;
    for (int i = 0; i < 20; ++i) {
        past.push_back({"h200", "", "simt", true, 0, 1e-3, 1});
        past.push_back({"h200", "", "simt", true, 1, 10e-6, -0.5});
    }
    const Device h200 = named("h200", "");
    EXPECT_DOUBLE_EQ(PastErrors(past).expected("simt", h200, true, 12e-6), 6e-6);
    EXPECT_DOUBLE_EQ(PastErrors(past).expected("simt", h200, true, 0.8e-3), 0.4e-3);
}

// Long calls of a new model say little of short ones, which the one before it has measured.
TEST(PastErrors, OfTheModelsThatCountNearInTimeComesBeforeNewer) {
    std::vector<EmbeddedResidual> past;
    for (int i = 0; i < 20; ++i) {
        if (i > 0) {
            past.push_back({"h200", "", "simt", true, 0, 1e-3, 1});
        }
        past.push_back({"h200", "", "simt", true, 1, 10e-6, -0.5});
        past.push_back({"h200", "", "simt", true, 2, 10e-6, 3});
    }
    const Device h200 = named("h200", "");
    EXPECT_DOUBLE_EQ(PastErrors(past).expected("simt", h200, true, 12e-6), 24e-6);
    EXPECT_DOUBLE_EQ(PastErrors(past).expected("simt", h200, true, 0.8e-3), 0.4e-3);
}

TEST(PastErrors, APredictionHasBothTimesAndItsBandContainsTheExpectedOne) {
    Case which;
    which.kernel = &find_kernel("prefill_sm90");
    which.options.how.launch_path = "graph";
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200);
    int corrected = 0;
    for (const char* shape :
         {"b=1,h=16,q=16384,k=16384,d=128,dtype=bf16",
          "b=4,h=16,q=512,k=512,d=128,dtype=bf16,causal", "b=1,h=4,q=128,k=128,d=64,dtype=fp16"}) {
        which.workload = parse_shape(shape);
        const Prediction with = predict_case(which, h200);
        const Prediction without = predict_case(which, h200, Calibration::left_out);
        EXPECT_GT(with.calibrated.count, 5) << shape;
        EXPECT_EQ(with.calibrated.hash.size(), 64) << shape;
        EXPECT_EQ(with.uncalibrated_seconds, without.seconds) << shape;
        EXPECT_LT(without.seconds, with.seconds) << shape;
        EXPECT_EQ(
            without.calibrated,
            (Calibrated{.count = 0, .hash = "", .errors = 0, .errors_hash = "", .left_out = true}))
            << shape;
        EXPECT_FALSE(with.calibrated.left_out) << shape;
        EXPECT_EQ(without.expected_seconds, without.seconds) << shape;
        EXPECT_FALSE(without.band) << shape;
        EXPECT_GT(with.datasheet_seconds, 0) << shape;
        ASSERT_TRUE(with.band) << shape;
        EXPECT_LE(with.band->low, with.expected_seconds) << shape;
        EXPECT_GE(with.band->high, with.expected_seconds) << shape;
        corrected += with.expected_seconds != with.seconds && with.calibrated.errors == 20 ? 1 : 0;
    }
    EXPECT_GT(corrected, 0);
}

TEST(PastErrors, OfCpusOnlyTheSameModel) {
    const std::vector<EmbeddedResidual> past(20, {"cpu", "One", "cpu_flash", true, 0, 1e-3, 0.25});
    const PastErrors errors(past);
    EXPECT_TRUE(errors.band("cpu_flash", named("cpu", "One"), true, 1e-3));
    EXPECT_FALSE(errors.band("cpu_flash", named("cpu", "Another"), true, 1e-3));
}

TEST(PastErrors, CommittedReceiptsGiveAPredictionItsBand) {
    Case which;
    which.kernel = &find_kernel("prefill_sm90");
    which.workload = parse_shape("b=1,h=16,q=16384,k=16384,d=128,dtype=bf16");
    which.options.how.launch_path = "graph";
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200);
    const Prediction predicted = predict_case(which, h200);
    ASSERT_TRUE(predicted.band);
    EXPECT_LT(predicted.band->low, predicted.band->high);
    EXPECT_GT(predicted.band->high, predicted.seconds / 2);
    EXPECT_LT(predicted.band->low, predicted.seconds * 2);
}

}  // namespace
}  // namespace raceline
