// SPDX-License-Identifier: Apache-2.0
#include "report/receipt_diff.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check.hpp"
#include "support/text_style.hpp"
#include "written_runs.hpp"

namespace raceline {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Diff : public test::WrittenRuns {
protected:
    [[nodiscard]] ReceiptDiff diff() const {
        return diff_of(read_timed_rows({path("a.jsonl")}), read_timed_rows({path("b.jsonl")}));
    }
    static Measurement timed(double low, double median, double high) {
        Measurement measured;
        measured.seconds_median = median;
        measured.seconds_low = low;
        measured.seconds_high = high;
        measured.samples = 9;
        return measured;
    }
    void both(const Measurement& before, const Measurement& after, const char* shape) {
        which_.workload = parse_shape(shape);
        run(1.0e-3, before, "a.jsonl");
        run(1.0e-3, after, "b.jsonl");
    }
};

TEST_F(Diff, tells_faster_slower_and_the_same_apart) {
    both(timed(0.99e-3, 1.00e-3, 1.01e-3), timed(0.79e-3, 0.80e-3, 0.81e-3),
         "h=1,q=8,k=8,d=64,dtype=fp32");
    both(timed(0.99e-3, 1.00e-3, 1.01e-3), timed(1.19e-3, 1.20e-3, 1.21e-3),
         "h=2,q=8,k=8,d=64,dtype=fp32");
    // Beyond what counts as an effect, but within the noise.
    both(timed(0.90e-3, 1.00e-3, 1.10e-3), timed(0.80e-3, 0.90e-3, 1.00e-3),
         "h=3,q=8,k=8,d=64,dtype=fp32");
    // Beyond the noise, but no effect.
    both(timed(0.999e-3, 1.00e-3, 1.001e-3), timed(0.979e-3, 0.98e-3, 0.981e-3),
         "h=4,q=8,k=8,d=64,dtype=fp32");
    const ReceiptDiff all = diff();
    ASSERT_EQ(all.cases.size(), 4U);
    EXPECT_EQ(all.cases[0].change, Change::slower);
    EXPECT_NEAR(all.cases[0].ratio, 1 / 1.2, 1e-9);
    EXPECT_EQ(all.cases[1].change, Change::same);
    EXPECT_EQ(all.cases[2].change, Change::same);
    EXPECT_EQ(all.cases[3].change, Change::faster);
    EXPECT_NEAR(all.cases[3].ratio_low, 0.99 / 0.81, 1e-9);
    EXPECT_NEAR(all.cases[3].ratio_high, 1.01 / 0.79, 1e-9);
    EXPECT_THAT(diff_text(all), HasSubstr("1 faster, 1 slower, 2 the same"));
}

TEST_F(Diff, names_what_is_mispredicted) {
    both(timed(0.99e-3, 1.00e-3, 1.01e-3), timed(1.99e-3, 2.00e-3, 2.01e-3),
         "h=1,q=8,k=8,d=64,dtype=fp32");
    const ReceiptDiff all = diff();
    EXPECT_TRUE(all.cases.at(0).missed);
    EXPECT_THAT(diff_text(all), HasSubstr("1 mispredicted"));
    EXPECT_THAT(diff_text(all), HasSubstr("-50 %"));
}

// A tile is as wide as a narrow terminal has room for the ratio, which is what the reader asked
// for.
TEST_F(Diff, a_narrow_table_keeps_the_ratio_and_its_interval) {
    const std::string file =
        std::string(RACELINE_SOURCE_DIR) + "/receipts/h200/2026-11-23-prefill_sm90-training-16k-";
    const ReceiptDiff one_kernel = diff_of(read_timed_rows({file + "36f10dd2f060.jsonl.gz"}),
                                           read_timed_rows({file + "4b2ec0278ce6.jsonl.gz"}));
    const std::string receipts = std::string(RACELINE_SOURCE_DIR) + "/receipts";
    const ReceiptDiff many_kernels = diff_of(timed_rows_of_commit(receipts, "3d1ff90"),
                                             timed_rows_of_commit(receipts, "4b2ec02"));
    for (const ReceiptDiff* diff : {&one_kernel, &many_kernels}) {
        ASSERT_GT(diff->cases.size(), 10U);
        const CaseDiff& first = diff->cases.front();
        for (const std::size_t columns : {std::size_t{80}, std::size_t{100}, std::size_t{120}}) {
            TextStyle style;
            style.columns = columns;
            const std::string text = diff_text(*diff, style);
            const std::string heading = text.substr(0, text.find('\n'));
            EXPECT_THAT(heading, HasSubstr("before / after")) << columns;
            EXPECT_THAT(heading, HasSubstr("interval")) << columns;
            EXPECT_THAT(heading, HasSubstr("change")) << columns;
            // The time before says nothing without that after.
            EXPECT_LE(heading.find("  before  ") < heading.size(),
                      heading.find("  after  ") < heading.size())
                << heading;
            EXPECT_THAT(text, HasSubstr(fmt::format("{:.3f}", first.ratio))) << columns;
            EXPECT_THAT(
                text, HasSubstr(fmt::format("{:.3f} to {:.3f}", first.ratio_low, first.ratio_high)))
                << columns;
            EXPECT_LE(text_width(heading), columns);
        }
    }
}

// Rows of one shape and kernel that differ in how they were launched alone may have opposite
// verdicts.
TEST_F(Diff, says_how_rows_of_one_name_were_launched) {
    const std::string shape = "h=1,q=8,k=8,d=64,dtype=fp32";
    both(timed(0.99e-3, 1.00e-3, 1.01e-3), timed(0.99e-3, 1.00e-3, 1.01e-3), shape.c_str());
    EXPECT_THAT(diff_text(diff()), testing::Not(HasSubstr("call")));
    which_.options.how.cold = false;
    both(timed(0.99e-3, 1.00e-3, 1.01e-3), timed(0.79e-3, 0.80e-3, 0.81e-3), shape.c_str());
    for (const std::size_t columns : {std::size_t{0}, std::size_t{80}}) {
        TextStyle style;
        style.columns = columns;
        const std::string text = diff_text(diff(), style);
        EXPECT_THAT(text, testing::ContainsRegex("cold .*1\\.000.* same"));
        EXPECT_THAT(text, testing::ContainsRegex("warm .*1\\.250.* faster"));
        EXPECT_THAT(text, testing::Not(HasSubstr("cold, parallel"))) << "what all have is not said";
    }
    TextStyle narrow;
    narrow.columns = 60;
    const std::string text = diff_text(diff(), narrow);
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = text.find('\n', from);
        EXPECT_LE(text_width(text.substr(from, to - from)), 60U) << text;
        from = to + 1;
    }
}

TEST_F(Diff, of_a_case_timed_twice_the_last_time_counts) {
    run(1.0e-3, 3.0e-3, "a.jsonl");
    run(1.0e-3, 1.0e-3, "a.jsonl");
    run(1.0e-3, 1.0e-3, "b.jsonl");
    const ReceiptDiff all = diff();
    ASSERT_EQ(all.cases.size(), 1U);
    EXPECT_EQ(all.cases[0].ratio, 1);
    EXPECT_THAT(all.notes, testing::Contains(HasSubstr("before: 1 case was timed again later")));
}

TEST_F(Diff, says_what_keeps_the_sides_apart) {
    run(1.0e-3, 1.0e-3, "a.jsonl");
    device_.name = "another CPU";
    run(1.0e-3, 1.0e-3, "b.jsonl");
    const ReceiptDiff all = diff();
    EXPECT_TRUE(all.cases.empty());
    EXPECT_EQ(all.only_before.size(), 1U);
    EXPECT_THAT(all.notes, Contains("before: cpu_flash on cpu (a test's CPU); cold, parallel, "
                                    "sustained, 2 threads"));
    EXPECT_THAT(all.notes, Contains("after: cpu_flash on cpu (another CPU); cold, parallel, "
                                    "sustained, 2 threads"));
    EXPECT_THAT(diff_text(all), HasSubstr("No case was timed on both sides"));
}

// Of one machine and kernel what is left to differ is how they were launched.
TEST_F(Diff, says_how_sides_were_launched_that_differ_in_nothing_else) {
    run(1.0e-3, 1.0e-3, "a.jsonl");
    which_.options.how.cold = false;
    which_.options.how.threads = 1;
    run(1.0e-3, 1.0e-3, "b.jsonl");
    const ReceiptDiff all = diff();
    EXPECT_TRUE(all.cases.empty());
    EXPECT_THAT(all.notes, Contains(HasSubstr("before: cpu_flash on cpu (a test's CPU); cold")));
    EXPECT_THAT(all.notes, Contains("after: cpu_flash on cpu (a test's CPU); warm, parallel, "
                                    "sustained, 1 thread"));
}

TEST_F(Diff, reads_the_committed_rows_of_a_commit) {
    const std::string receipts = std::string(RACELINE_SOURCE_DIR) + "/receipts";
    const TimedRows rows = timed_rows_of_commit(receipts, "5ea6778");
    ASSERT_FALSE(rows.cases.empty());
    for (const TimedCase& one : rows.cases) {
        EXPECT_EQ(one.commit, "5ea677882833");
    }
    try {
        static_cast<void>(timed_rows_of_commit(receipts, "0123456"));
        ADD_FAILURE() << "found rows of a commit that there is not";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("5ea677882833"));
    }
}

}  // namespace
}  // namespace raceline
