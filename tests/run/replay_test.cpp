// SPDX-License-Identifier: Apache-2.0
// Committed receipts of schema 1 go on to answer for the cases that they measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "receipt/file.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "report/receipt_report.hpp"
#include "run/run_case.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

const std::string committed =
    std::string(RACELINE_SOURCE_DIR) + "/receipts/cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz";

TEST(Schema1, ACommittedFileIsCheckedAndReplayed) {
    const ReceiptFile file = read_receipts(committed);
    ASSERT_FALSE(file.rows.empty());
    EXPECT_TRUE(check_receipts(file).empty());
    const auto backend = make_replay_backend(committed);
    int replayed = 0;
    for (const Json& row : file.rows) {
        ASSERT_EQ(row.at("schema"), 1);
        if (row.at("kind") != MeasurementRow::kind) {
            continue;
        }
        ASSERT_FALSE(row.at("case").contains("regime"));
        const auto measured = row_from_json<MeasurementRow>(row);
        const Kernel& kernel = find_kernel(measured.about.kernel);
        Case which{.suite = measured.about.suite,
                   .kernel = &kernel,
                   .tile = 0,
                   .workload = workload_from_json(measured.about.workload),
                   .options = {}};
        which.options.how = measured.about.launch;
        // As a user asks for it today: with a regime, and the tile by its fields.
        while (row_case(which, backend->device()).tile != measured.about.tile) {
            ASSERT_LT(++which.tile, kernel.tile_count());
        }
        const Timed timed = backend->measure(kernel, which.tile, which.workload, which.options);
        EXPECT_EQ(timed.measurement.seconds_median, measured.measurement->seconds_median);
        EXPECT_EQ(timed.outputs.relative_rms, measured.correctness.relative_rms);
        ++replayed;
    }
    EXPECT_EQ(replayed, 19);
}

TEST(Schema1, ACommittedFileIsReported) {
    ReceiptReport report;
    report.add(committed);
    EXPECT_TRUE(report.findings().empty());
    // One row's interval is wider than a tenth of its median.
    EXPECT_THAT(report.str(),
                testing::HasSubstr("1 time is unsettled, and counted in no accuracy"));
    EXPECT_THAT(report.str(), testing::ContainsRegex("over 100 µs +17 "));
}

}  // namespace
}  // namespace raceline
