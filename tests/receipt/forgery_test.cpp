// SPDX-License-Identifier: Apache-2.0
// A good file is edited and chained again, as a forger would: each edit must be found in its line,
// by its own rule.
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/time.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Forgery : public example::Folder {
protected:
    Forgery() {
        ReceiptWriter writer(path());
        const Json predicted = writer.append(example::row("prediction"));  // line 1
        writer.append(                                                     // line 2
            make_row(example::context(), "measurement", "", example::measurement(predicted)));
        Json compared = example::content("comparison");
        compared["prediction_id"] = predicted.at("id");
        compared["correctness"] = example::verdict(true);
        writer.append(make_row(example::context(), "comparison", "", compared));  // line 3
        Json checked = example::row("check");
        checked["correctness"] = example::verdict(true);
        writer.append(checked);                  // line 4
        writer.append(example::row("ceiling"));  // line 5
        good_ = read_receipts(path());
    }

    /// What is found in the file whose line `line` was changed, with hashes that fit again.
    [[nodiscard]] std::string found(std::size_t line,
                                    const std::function<void(Json&)>& change) const {
        ReceiptFile file = good_;
        change(file.rows.at(line - 1));
        example::chain_again(file);
        return example::findings(file);
    }
    [[nodiscard]] std::string found(std::size_t line, const char* at, const Json& value) const {
        return found(line, [&](Json& row) { row.at(Json::json_pointer(at)) = value; });
    }
    ReceiptFile good_;
};

TEST_F(Forgery, the_good_file_holds) {
    EXPECT_EQ(example::findings(good_), "");
}

TEST_F(Forgery, rows_out_of_the_order_of_their_times_are_refused) {
    EXPECT_THAT(found(4, "/written", "2026-01-01T00:00:00.000000Z"),
                AllOf(StartsWith("4: written 2026-01-01T00:00:00.000000Z, before the row above it"),
                      Not(HasSubstr("5: "))));
}

TEST_F(Forgery, a_row_of_the_future_is_refused) {
    EXPECT_THAT(found(5, "/written", "2931-01-01T00:00:00.000000Z"),
                StartsWith("5: written 2931-01-01T00:00:00.000000Z, in the future: it is " +
                           utc_now().substr(0, 10)));
}

TEST_F(Forgery, a_verdict_that_passed_with_an_error_over_its_bound_is_refused) {
    for (const char* error : {"relative_rms", "worst", "aligned"}) {
        for (const std::size_t line : {2U, 3U, 4U}) {
            EXPECT_THAT(found(line, (std::string("/correctness/") + error).c_str(), 0.5),
                        StartsWith(fmt::format("{}: correctness.passed is true, but {} is 0.5, "
                                               "over bound",
                                               line, error)));
        }
        EXPECT_THAT(found(3, (std::string("/peer/correctness/") + error).c_str(), 0.5),
                    StartsWith(fmt::format("3: peer.correctness.passed is true, but {} is 0.5, "
                                           "over bound",
                                           error)));
    }
    EXPECT_THAT(found(3, "/peer/correctness/worst", nullptr),
                StartsWith("3: peer.correctness.passed is true, but worst is null"));
}

TEST_F(Forgery, a_verdict_that_passed_without_a_row_is_refused) {
    for (const std::size_t line : {2U, 3U, 4U}) {
        EXPECT_THAT(found(line, "/correctness/cases", 0),
                    StartsWith(fmt::format("{}: correctness.passed is true of 0 rows", line)));
    }
}

TEST_F(Forgery, a_call_without_query_rows_passes_without_one) {
    const auto without_rows = [](Json& row) {
        row["workload"]["seqlen_q"] = 0;
        row["correctness"]["cases"] = 0;
    };
    EXPECT_EQ(found(4, without_rows), "");
}

TEST_F(Forgery, a_time_without_a_sample_is_refused) {
    EXPECT_THAT(found(2, "/measurement/samples", 0),
                HasSubstr("2: measurement: 0 samples: a time is the median of one or more"));
    EXPECT_THAT(found(3, "/peer/samples", 0), HasSubstr("3: peer: 0 samples"));
}

TEST_F(Forgery, a_verdict_that_failed_may_be_over_its_bound) {
    EXPECT_EQ(found(4,
                    [](Json& row) {
                        row["correctness"]["passed"] = false;
                        row["correctness"]["worst"] = 0.5;
                    }),
              "");
}

TEST_F(Forgery, a_time_that_its_interval_does_not_hold_is_refused) {
    EXPECT_THAT(found(2, "/measurement/seconds_median", 9e-5),
                StartsWith("2: measurement: the interval from 9.8e-05 to 0.000102 s must be above "
                           "0 and hold its median of 9e-05 s"));
    EXPECT_THAT(found(2, "/measurement/seconds_low", 0), HasSubstr("2: measurement: the interval"));
    EXPECT_THAT(found(3, "/measurement/seconds_median", 9e-5),
                StartsWith("3: measurement: the interval"));
    EXPECT_THAT(found(3, "/peer/seconds_median", 9e-4), StartsWith("3: peer: the interval"));
}

TEST_F(Forgery, a_ratio_unlike_the_two_times_is_refused) {
    EXPECT_THAT(found(3, "/ratio", 1.2), StartsWith("3: ratio is 1.2, but peer.seconds_median / "
                                                    "measurement.seconds_median is 1\n"));
    EXPECT_THAT(found(3, "/ratio_low", 0.99),
                StartsWith("3: ratio_low is 0.99, but peer.seconds_low / measurement.seconds_high "
                           "is 0.96"));
    EXPECT_THAT(found(3, "/ratio_high", 1.01),
                StartsWith("3: ratio_high is 1.01, but peer.seconds_high / "
                           "measurement.seconds_low is 1.04"));
}

TEST_F(Forgery, a_comparison_without_two_verdicts_that_passed_is_refused) {
    EXPECT_THAT(found(3, [](Json& row) { row.erase("correctness"); }),
                StartsWith("3: member \"correctness\" is missing"));
    for (const char* member : {"relative_rms", "bound"}) {
        EXPECT_THAT(found(3, [&](Json& row) { row["correctness"].erase(member); }),
                    StartsWith("3: correctness has no relative_rms and bound"));
    }
    EXPECT_THAT(found(3, "/correctness/passed", false),
                StartsWith("3: correctness.passed is false: a wrong answer has no time"));
    EXPECT_THAT(found(3, "/peer/correctness/passed", false),
                StartsWith("3: peer.correctness.passed is false: a wrong answer has no time"));
}

TEST_F(Forgery, a_comparison_is_held_to_the_prediction_that_it_names) {
    EXPECT_THAT(found(3, "/prediction_id", std::string(32, 'f')),
                StartsWith("3: prediction_id ffff"));
    EXPECT_THAT(found(3, "/prediction_id", good_.rows[1].at("id")),
                HasSubstr("names no earlier prediction row"));
    EXPECT_THAT(found(3, "/workload/seqlen_k", 513), StartsWith("3: workload is"));
    EXPECT_THAT(found(3, [](Json& row) { row["prediction"] = Json{{"seconds", 1}}; }),
                StartsWith("3: prediction is not that of line 1, which prediction_id names"));
    EXPECT_EQ(found(3, [](Json& row) { row.erase("prediction_id"); }), "")
        << "it need not have one";
}

TEST_F(Forgery, an_unsettled_side_of_a_comparison_must_say_so) {
    EXPECT_THAT(found(3,
                      [](Json& row) {
                          row["peer"]["seconds_high"] = 1.2e-4;
                          row["ratio_high"] = 1.2e-4 / 9.8e-5;
                      }),
                StartsWith("3: peer.unsettled is false, but its interval"));
}

TEST_F(Forgery, a_ceiling_above_its_limit_is_refused) {
    EXPECT_EQ(found(5, "/ceiling/limit", 1.99e10), "");
    EXPECT_THAT(found(5, "/ceiling/limit", 1.9e10),
                StartsWith("5: ceiling.value of byte.dram_read is 20000000000 byte/s, more than 3 "
                           "% above"));
}

}  // namespace
}  // namespace raceline
