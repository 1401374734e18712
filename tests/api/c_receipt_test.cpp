// SPDX-License-Identifier: Apache-2.0
// Statistics and receipts through raceline.h.
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
#include "support/statistics.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

TEST(CSummary, IsTheMedianAndIntervalOfReceipts) {
    const std::vector<double> samples{9, 1, 2, 8, 3, 7, 4, 6, 5, 10, 11};
    rl_summary summary = RL_INIT(rl_summary);
    ASSERT_EQ(rl_summarize(samples.data(), 11, &summary), RL_OK) << rl_last_error();
    EXPECT_EQ(summary.samples, 11);
    EXPECT_EQ(summary.median, 6.0);
    EXPECT_EQ(summary.low, median_interval(samples).low);
    EXPECT_EQ(summary.high, median_interval(samples).high);
    EXPECT_LT(summary.low, summary.median);
}

TEST(CSummary, RefusesWhatIsNoSample) {
    rl_summary summary = RL_INIT(rl_summary);
    summary.median = 77;
    const double bad[] = {1, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_EQ(rl_summarize(bad, 2, &summary), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("samples[1] is nan"));
    EXPECT_EQ(rl_summarize(bad, 0, &summary), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_summarize(nullptr, 2, &summary), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_summarize(bad, 1, nullptr), RL_INVALID_ARGUMENT);
    EXPECT_EQ(summary.median, 77);
}

class CReceipt : public testing::Test {
protected:
    void SetUp() override {
        const char* argv[] = {"script", "--all"};
        ASSERT_EQ(rl_receipt_open(path.c_str(), 2, argv, &receipt), RL_OK) << rl_last_error();
        char* text = nullptr;
        ASSERT_EQ(rl_predict_shape("b=1,h=2,q=64,k=64,d=64,dtype=fp32", "cpu", nullptr, &text),
                  RL_OK)
            << rl_last_error();
        about = text;
        rl_free(text);
    }
    void TearDown() override {
        rl_receipt_close(receipt);
        std::filesystem::remove(path);
    }
    [[nodiscard]] std::size_t rows() const { return read_receipts(path).rows.size(); }

    std::string path = testing::TempDir() + "c_receipt_" + std::to_string(getpid()) + ".jsonl";
    rl_receipt* receipt = nullptr;
    std::string about;
    const std::string peer =
        R"({"name":"torch_cpu","version":"2","backend":"math","correctness":{"passed":true}})";
    const std::string verdict =
        R"({"passed":true,"relative_rms":1e-7,"worst":1e-7,"bound":1e-6,"bound_worst":1e-6,"aligned":0,
        "bound_aligned":1e-6,"lse_worst":0,"cases":64})";
};

TEST_F(CReceipt, AppendsAChainedRow) {
    char* row = nullptr;
    ASSERT_EQ(rl_receipt_append(receipt, "prediction", about.c_str(), &row), RL_OK)
        << rl_last_error();
    const Json written = parse_json(row, "row");
    rl_free(row);
    EXPECT_EQ(written.at("argv"), Json({"script", "--all"}));
    EXPECT_EQ(written.at("kernel"), "cpu_flash");
    EXPECT_EQ(written.at("source_hash").get<std::string>().size(), 64U);
    ASSERT_EQ(rl_receipt_append(receipt, "prediction", about.c_str(), nullptr), RL_OK);
    const ReceiptFile file = read_receipts(path);
    // This machine's rates are not in the tree: they come first, once.
    ASSERT_EQ(file.rows.size(), 3U);
    EXPECT_EQ(file.rows[0].at("kind"), "device");
    EXPECT_EQ(file.rows[0].at("state").at("rates_id"), written.at("prediction").at("rates_id"));
    EXPECT_EQ(file.rows[1], written);
    EXPECT_EQ(file.rows[2].at("prev"), written.at("hash"));
    EXPECT_TRUE(check_receipts(file).empty());
    EXPECT_EQ(rl_receipt_path(receipt), path);
    EXPECT_EQ(rl_receipt_repaired(receipt), 0U);
}

TEST_F(CReceipt, ComputesAComparisonFromRawSamples) {
    const std::vector<double> ours{2, 1, 3, 2, 2, 2, 1, 3}, theirs{6, 5, 7, 6, 6, 6, 5, 7};
    rl_samples a = RL_INIT(rl_samples), b = RL_INIT(rl_samples);
    a.seconds = ours.data();
    b.seconds = theirs.data();
    a.count = b.count = 8;
    b.seconds_call = 9;
    a.sm_clock_hz = 1.98e9;
    a.power_w = 655;
    a.settled = b.throttled = 1;
    char* text = nullptr;
    Json ours_too = parse_json(about, "about");
    ours_too["correctness"] = parse_json(verdict, "verdict");
    ASSERT_EQ(
        rl_receipt_append_comparison(receipt, ours_too.dump().c_str(), &a, peer.c_str(), &b, &text),
        RL_OK)
        << rl_last_error();
    const Json row = parse_json(text, "row");
    rl_free(text);
    EXPECT_EQ(row.at("measurement").at("seconds_median"), 2.0);
    EXPECT_EQ(row.at("peer").at("seconds_median"), 6.0);
    EXPECT_EQ(row.at("peer").at("seconds_call"), 9.0);
    EXPECT_EQ(row.at("measurement").at("sm_clock_hz"), 1.98e9);
    EXPECT_EQ(row.at("measurement").at("power_w"), 655.0);
    EXPECT_EQ(row.at("measurement").at("settled"), true);
    EXPECT_EQ(row.at("measurement").at("throttled"), false);
    EXPECT_EQ(row.at("peer").at("settled"), false);
    EXPECT_EQ(row.at("peer").at("throttled"), true);
    EXPECT_EQ(row.at("peer").at("name"), "torch_cpu");
    EXPECT_EQ(row.at("ratio"), 3.0);
    const Interval mine = median_interval(ours), other = median_interval(theirs);
    EXPECT_EQ(row.at("ratio_low").get<double>(), other.low / mine.high);
    EXPECT_EQ(row.at("ratio_high").get<double>(), other.high / mine.low);
    EXPECT_TRUE(check_receipts(read_receipts(path)).empty());
}

// A caller that writes what schema 1 asked for.
TEST_F(CReceipt, FillsInWhatACallerOfSchema1DoesNotKnow) {
    Json content = parse_json(about, "about");
    for (const char* later : {"op", "pass"}) {
        content.erase(later);
    }
    content["case"].erase("regime");
    content["correctness"] = {
        {"passed", true}, {"relative_rms", 1e-7}, {"worst", 1e-6}, {"bound", 1e-6}, {"cases", 4}};
    char* text = nullptr;
    ASSERT_EQ(rl_receipt_append(receipt, "check", content.dump().c_str(), &text), RL_OK)
        << rl_last_error();
    const Json row = parse_json(text, "row");
    rl_free(text);
    EXPECT_EQ(row.at("schema"), 2);
    EXPECT_EQ(row.at("op"), "attention");
    EXPECT_EQ(row.at("pass"), "forward");
    EXPECT_EQ(row.at("case").at("regime"), "sustained");
    EXPECT_EQ(row.at("correctness").at("aligned"), 0.0);
    content["correctness"].erase("worst");
    EXPECT_EQ(rl_receipt_append(receipt, "check", content.dump().c_str(), nullptr),
              RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("correctness.worst"));
}

TEST_F(CReceipt, RefusesBadRowsAndWritesNone) {
    EXPECT_EQ(rl_receipt_append(receipt, "rumour", "{}", nullptr), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("kind is 'rumour'"));
    EXPECT_EQ(rl_receipt_append(receipt, "prediction", "[1]", nullptr), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_receipt_append(receipt, "prediction", "{", nullptr), RL_CORRUPT);
    EXPECT_NE(rl_receipt_append(receipt, "prediction", "{}", nullptr), RL_OK);
    EXPECT_EQ(rl_receipt_append(receipt, "check", R"({"hash":"0"})", nullptr), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("'hash', which raceline writes itself"));
    EXPECT_EQ(rl_receipt_append(nullptr, "check", "{}", nullptr), RL_INVALID_ARGUMENT);
    rl_samples none = RL_INIT(rl_samples);
    EXPECT_EQ(
        rl_receipt_append_comparison(receipt, about.c_str(), &none, peer.c_str(), &none, nullptr),
        RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_receipt_append_comparison(receipt, about.c_str(), &none, "{}", &none, nullptr),
              RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("peer has no text 'name'"));
    EXPECT_EQ(rows(), 0U);
}

// A caller from before the clock was asked for: what lies behind his struct is not his.
TEST_F(CReceipt, ReadsSamplesOfAnOlderCaller) {
    const double seconds[] = {2, 2, 2};
    rl_samples older = RL_INIT(rl_samples);
    older.struct_size = offsetof(rl_samples, sm_clock_hz);
    older.seconds = seconds;
    older.count = 3;
    older.sm_clock_hz = older.power_w = -1;
    char* text = nullptr;
    ASSERT_EQ(
        rl_receipt_append_comparison(receipt, about.c_str(), &older, peer.c_str(), &older, &text),
        RL_OK)
        << rl_last_error();
    EXPECT_EQ(parse_json(text, "row").at("measurement").at("sm_clock_hz"), 0.0);
    rl_free(text);
    older.struct_size = sizeof(older);
    EXPECT_EQ(
        rl_receipt_append_comparison(receipt, about.c_str(), &older, peer.c_str(), &older, nullptr),
        RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("ours.sm_clock_hz is -1"));
}

TEST(CClock, IsClearOrPlausible) {
    rl_clock_state state = RL_INIT(rl_clock_state);
    state.sm_clock_hz = 77;
    ASSERT_EQ(rl_read_clock(&state), RL_OK) << rl_last_error();
    EXPECT_TRUE(state.sm_clock_hz == 0 || (state.sm_clock_hz > 1e8 && state.sm_clock_hz < 1e10));
    EXPECT_EQ(rl_read_clock(nullptr), RL_INVALID_ARGUMENT);
}

TEST_F(CReceipt, RefusesAPathThatCannotBeWritten) {
    rl_receipt* other = nullptr;
    EXPECT_EQ(rl_receipt_open("/proc/none/receipt.jsonl", 0, nullptr, &other), RL_IO);
    EXPECT_THAT(rl_last_error(), HasSubstr("/proc/none"));
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(rl_receipt_open(path.c_str(), 3, nullptr, &other), RL_INVALID_ARGUMENT);
    rl_receipt_close(nullptr);
}

}  // namespace
}  // namespace raceline
