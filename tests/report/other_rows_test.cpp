// SPDX-License-Identifier: Apache-2.0
// Every kind of row that is committed shows up in a report.
#include "report/other_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/receipt_report.hpp"
#include "written_runs.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string report_of(const std::string& name) {
    ReceiptReport report;
    report.add(std::string(RACELINE_SOURCE_DIR) + "/receipts/h200/" + name);
    return report.str();
}

TEST(OtherRows, comparisons_stand_in_a_table) {
    const std::string text = report_of("2026-11-23-compare-e4m3-4b2ec0278ce6.jsonl.gz");
    EXPECT_THAT(text, HasSubstr("its / ours"));
    EXPECT_THAT(text, HasSubstr("h=8,q=16384,k=16384,d=256,dtype=e4m3,causal"));
    EXPECT_THAT(text, HasSubstr("device rows: NVIDIA H200 (h200)"));
    // Each prediction has its comparison.
    EXPECT_THAT(text, Not(HasSubstr("predicted, not measured")));
}

TEST(OtherRows, checks_are_counted) {
    EXPECT_THAT(report_of("2026-11-22-prefill_sm90-errors-3d1ff90bf28f.jsonl.gz"),
                HasSubstr("prefill_sm90 on h200: 400 checks passed, 0 failed"));
}

TEST(OtherRows, ceilings_stand_in_a_table) {
    const std::string text = report_of("ceilings.jsonl");
    EXPECT_THAT(text, HasSubstr("byte.dram_read"));
    EXPECT_THAT(text, HasSubstr("4.62 TB/s"));
    EXPECT_THAT(text, HasSubstr("688 ns"));
}

TEST(OtherRows, counters_name_the_limiter_of_their_case) {
    const std::string text = report_of("2026-11-21-from-scratch-12c3875edbd2.jsonl.gz");
    EXPECT_THAT(text, HasSubstr("limiter by counters"));
    EXPECT_THAT(text, testing::ContainsRegex("light_barriers +latency"));
}

TEST(OtherRows, counters_without_their_measurement_name_their_case) {
    const ReceiptFile file =
        read_receipts(std::string(RACELINE_SOURCE_DIR) +
                      "/receipts/h200/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz");
    OtherRows whole;
    OtherRows nameless;
    for (Json row : file.rows) {
        if (row.at("kind") == "counters") {
            whole.add(row);
            row.erase("kernel");
            nameless.add(row);
        }
    }
    EXPECT_THAT(whole.str(), testing::ContainsRegex("h=8,q=512.* light_barriers +latency"));
    EXPECT_THAT(nameless.str(), HasSubstr("which is not in these files"));
}

class Unmeasured : public test::WrittenRuns {};

TEST_F(Unmeasured, predictions_alone_stand_in_a_table) {
    run(1e-3, 2e-3);
    ReceiptFile file = read_receipts(path());
    OtherRows rows;
    rows.add(file.rows.at(0));
    EXPECT_THAT(rows.str(), HasSubstr("predicted, not measured"));
    EXPECT_THAT(rows.str(), HasSubstr("1.00 ms"));
    rows.add(file.rows.at(1));
    EXPECT_EQ(rows.str(), "");
}

}  // namespace
}  // namespace raceline
