// SPDX-License-Identifier: Apache-2.0
// Contenders of a C caller under the library's clock.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

#include "raceline/raceline.h"
#include "receipt/file.hpp"
#include "support/json.hpp"
#include "timing/measurement.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

struct Work {
    double seconds = 0;
    int runs = 0;
    int failing_run = -1;
    void* stream = nullptr;
};

std::int32_t spin(void* context, void* stream) {
    Work& work = *static_cast<Work*>(context);
    work.stream = stream;
    if (++work.runs == work.failing_run) {
        return 17;
    }
    const double end = monotonic_seconds() + work.seconds;
    while (monotonic_seconds() < end) {
    }
    return 0;
}

rl_contender contender(const char* name, Work& work, std::int32_t calls = 1) {
    rl_contender made = RL_INIT(rl_contender);
    made.name = name;
    made.enqueue = spin;
    made.context = &work;
    made.calls = calls;
    return made;
}

rl_timing_options quick() {
    rl_timing_options options = RL_INIT(rl_timing_options);
    options.min_samples = options.max_samples = 12;
    return options;
}

TEST(CTiming, TimesContendersBesideEachOther) {
    Work slow{.seconds = 4e-4}, fast{.seconds = 1e-4};
    const rl_contender all[] = {contender("slow", slow, 2), contender("fast", fast)};
    rl_timing results[] = {RL_INIT(rl_timing), RL_INIT(rl_timing)};
    const rl_timing_options options = quick();
    ASSERT_EQ(rl_time_contenders(all, 2, RL_CPU, &options, results), RL_OK) << rl_last_error();
    EXPECT_GE(results[0].seconds_median, 2e-4);  // of each of two calls
    EXPECT_GE(results[1].seconds_median, 1e-4);
    EXPECT_LE(results[1].seconds_low, results[1].seconds_median);
    EXPECT_EQ(results[1].seconds_call, results[1].seconds_median);
    EXPECT_GT(results[0].sm_clock_hz, 1e8);
    EXPECT_EQ(results[0].disturbed, results[1].disturbed);  // a round at a time
    EXPECT_EQ(slow.runs, fast.runs);
    EXPECT_GE(slow.runs, 12 + 2);
    EXPECT_EQ(slow.stream, nullptr);
}

TEST(CTiming, SaysWhichContenderFailed) {
    Work good, broken{.failing_run = 5};
    const rl_contender all[] = {contender("good", good), contender("broken", broken)};
    rl_timing results[] = {RL_INIT(rl_timing), RL_INIT(rl_timing)};
    results[0].seconds_median = 77;
    EXPECT_EQ(rl_time_contenders(all, 2, RL_CPU, nullptr, results), RL_INTERNAL);
    EXPECT_THAT(rl_last_error(), HasSubstr("contender 'broken' failed"));
    EXPECT_THAT(rl_last_error(), HasSubstr("gave 17"));
    EXPECT_EQ(results[0].seconds_median, 77);
}

TEST(CTiming, RefusesWhatCannotBeTimed) {
    Work work;
    rl_contender one = contender("one", work);
    rl_timing result = RL_INIT(rl_timing);
    rl_timing_options options = quick();
    const auto refused = [&](const char* sentence) {
        EXPECT_EQ(rl_time_contenders(&one, 1, RL_CPU, &options, &result), RL_INVALID_ARGUMENT);
        EXPECT_THAT(rl_last_error(), HasSubstr(sentence));
        one = contender("one", work);
        options = quick();
        result = RL_INIT(rl_timing);
    };
    one.calls = 0;
    refused("contender 'one' has 0 calls");
    one.enqueue = nullptr;
    refused("contender 'one' has no function");
    one.name = nullptr;
    refused("null pointer");
    one.struct_size = 12;
    refused("contenders[0].struct_size is 12");
    options.regime = "idle";
    refused("regime 'idle'");
    options.max_samples = -1;
    refused("options.max_samples is -1");
    options.max_seconds = std::numeric_limits<double>::quiet_NaN();
    refused("options.max_seconds is nan");
    result.struct_size = 0;
    refused("results[0].struct_size is 0");
    EXPECT_EQ(rl_time_contenders(&one, 0, RL_CPU, &options, &result), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_time_contenders(&one, 1, 9, &options, &result), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_time_contenders(nullptr, 1, RL_CPU, &options, &result), RL_INVALID_ARGUMENT);
    EXPECT_EQ(work.runs, 0);
}

// Elements of a caller's array stand as far apart as he says, so that a size which this version
// does not know is refused before anything is read.
TEST(CTiming, RefusesElementsOfASizeItDoesNotKnow) {
    Work work;
    struct Longer {
        rl_contender known;
        void* unknown;
    };
    Longer all[] = {{contender("first", work), nullptr}, {contender("second", work), nullptr}};
    all[0].known.struct_size = all[1].known.struct_size = sizeof(Longer);
    rl_timing results[] = {RL_INIT(rl_timing), RL_INIT(rl_timing)};
    EXPECT_EQ(rl_time_contenders(&all[0].known, 2, RL_CPU, nullptr, results), RL_INVALID_ARGUMENT);
    EXPECT_NE(std::string(rl_last_error()).find("contenders[0].struct_size is"), std::string::npos);
    EXPECT_EQ(work.runs, 0);
}

class CTimedComparison : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(rl_receipt_open(path.c_str(), 0, nullptr, &receipt), RL_OK) << rl_last_error();
        char* text = nullptr;
        ASSERT_EQ(rl_predict_shape("b=1,h=2,q=64,k=64,d=64,dtype=fp32", "cpu", nullptr, &text),
                  RL_OK)
            << rl_last_error();
        Json content = parse_json(text, "about");
        rl_free(text);
        // Without a verdict on our own answer a comparison does not pass `report --check`.
        content["correctness"] = parse_json(
            R"({"passed":true,"relative_rms":1e-7,"worst":1e-7,"bound":1e-6,"bound_worst":1e-6,"aligned":0,
        "bound_aligned":1e-6,"lse_worst":0,"cases":64})",
            "verdict");
        about = content.dump();
        theirs.seconds_median = 6;
        theirs.seconds_low = 5;
        theirs.seconds_high = 8;
        theirs.samples = 9;
        ours.seconds_median = ours.seconds_low = ours.seconds_high = 2;
        ours.samples = 10;
    }
    void TearDown() override {
        rl_receipt_close(receipt);
        std::filesystem::remove(path);
    }
    rl_status append(char** text) {
        rl_samples a = RL_INIT(rl_samples), b = RL_INIT(rl_samples);
        a.timing = &ours;
        b.timing = &theirs;
        return rl_receipt_append_comparison(receipt, about.c_str(), &a, peer.c_str(), &b, text);
    }

    std::string path = testing::TempDir() + "c_timing_" + std::to_string(getpid()) + ".jsonl";
    rl_receipt* receipt = nullptr;
    std::string about;
    const std::string peer =
        R"({"name":"torch_cpu","version":"2","backend":"math","correctness":{"passed":true}})";
    rl_timing ours = RL_INIT(rl_timing), theirs = RL_INIT(rl_timing);
};

TEST_F(CTimedComparison, BecomesARow) {
    ours.disturbed = 3;
    std::string("3 of 13 samples were disturbed").copy(ours.disturbance, 255);
    ours.power_w = 600;
    char* text = nullptr;
    ASSERT_EQ(append(&text), RL_OK) << rl_last_error();
    const Json row = parse_json(text, "row");
    rl_free(text);
    EXPECT_EQ(row.at("ratio"), 3.0);
    EXPECT_EQ(row.at("ratio_low"), 2.5);
    EXPECT_EQ(row.at("ratio_high"), 4.0);
    EXPECT_EQ(row.at("measurement").at("disturbed"), 3);
    EXPECT_EQ(row.at("measurement").at("disturbance"), "3 of 13 samples were disturbed");
    EXPECT_EQ(row.at("measurement").at("unsettled"), false);
    EXPECT_EQ(row.at("measurement").at("power_w"), 600.0);
    EXPECT_EQ(row.at("peer").at("unsettled"), true) << "5 to 8 s is more than 10 % of 6 s";
    EXPECT_EQ(row.at("peer").at("seconds_call"), 6.0);
    EXPECT_TRUE(check_receipts(read_receipts(path)).empty());
}

TEST_F(CTimedComparison, RefusesWhatNoMeasurementCanBe) {
    const rl_timing good = ours;
    const auto refused = [&](const char* sentence) {
        EXPECT_EQ(append(nullptr), RL_INVALID_ARGUMENT);
        EXPECT_THAT(rl_last_error(), HasSubstr(sentence));
        ours = good;
    };
    ours.seconds_low = 3;
    refused("ours has a median of 2 s with an interval from 3 to 2 s");
    ours.seconds_high = std::numeric_limits<double>::infinity();
    refused("an interval from 2 to inf s");
    ours.samples = 0;
    refused("ours has 0 samples");
    ours.power_w = -1;
    refused("a power of -1 W");
    rl_samples both = RL_INIT(rl_samples);
    both.timing = &ours;
    both.count = 3;
    EXPECT_EQ(
        rl_receipt_append_comparison(receipt, about.c_str(), &both, peer.c_str(), &both, nullptr),
        RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("both samples and a timing"));
}

}  // namespace
}  // namespace raceline
