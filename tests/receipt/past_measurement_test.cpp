// SPDX-License-Identifier: Apache-2.0
// A file that leaves the tree goes on to say in its line of the index what its rows said.
#include "receipt/past_measurement.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "example_rows.hpp"
#include "receipt/residuals.hpp"

namespace raceline {
namespace {

std::vector<Json> rows_of_two_cases() {
    std::vector<Json> rows;
    for (const char* id : {"a", "b"}) {
        Json p = example::prediction();
        p.update({{"kind", "prediction"}, {"id", std::string(32, *id)}});
        Json m = example::measurement(p);
        m.update({{"kind", "measurement"}, {"written", "2026-01-01T00:00:00Z"}});
        m["measurement"]["seconds_median"] = 1.2345678901234567e-4;
        rows.push_back(p);
        rows.push_back(m);
    }
    rows.back()["workload"]["seqlen_k"] = 513;
    return rows;
}

const Json file = {{"path", "receipts/cpu/x.jsonl"},
                   {"sha256", "s"},
                   {"rows", 4},
                   {"first_hash", "f"},
                   {"last_hash", "l"}};

TEST(PastMeasurement, numbers_are_those_of_the_rows) {
    const auto found = past_measurements(rows_of_two_cases());
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].measured, 1.2345678901234567e-4);
    EXPECT_EQ(found[0].predicted, 1.5e-4);
    EXPECT_EQ(found[0].model, "def");
    EXPECT_EQ(found[0].kind, "measurement");
    EXPECT_EQ(found[1].workload.at("seqlen_k"), 513);
}

TEST(PastMeasurement, what_was_refused_or_not_timed_is_none) {
    std::vector<Json> rows = rows_of_two_cases();
    rows[1]["correctness"]["passed"] = false;
    rows[3]["measurement"] = nullptr;
    EXPECT_TRUE(past_measurements(rows).empty());
}

TEST(PastMeasurement, a_comparison_is_kept_and_makes_no_residual) {
    std::vector<Json> rows = rows_of_two_cases();
    const Json id = rows[1]["prediction_id"];
    rows[1] = example::content("comparison");
    rows[1].update({{"kind", "comparison"},
                    {"written", "2026-01-01T00:00:00Z"},
                    {"prediction_id", id},
                    {"correctness", example::verdict(true)}});
    const auto found = past_measurements(rows);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].kind, "comparison");
    EXPECT_EQ(residuals_of(found).size(), 1U);
}

TEST(PastMeasurement, a_line_of_the_index_says_the_same_and_shares_what_is_alike) {
    const auto measured = past_measurements(rows_of_two_cases());
    const Json line = Json::parse(index_line(file, "c0ffee", measured).dump());
    EXPECT_EQ(past_measurements_of_line(line), measured);
    EXPECT_EQ(line.at("path"), file.at("path"));
    EXPECT_EQ(line.at("commit"), "c0ffee");
    EXPECT_EQ(line.at("tiles").size(), 1U);
    EXPECT_EQ(line.at("workloads").size(), 2U);
    EXPECT_EQ(line.at("columns").size(), line.at("measurements").at(0).size());
}

TEST(PastMeasurement, a_line_keeps_what_else_was_predicted_and_older_lines_read_as_they_were) {
    std::vector<Json> rows = rows_of_two_cases();
    rows[0]["prediction"]["expected_seconds"] = 2e-3;
    rows[0]["prediction"]["uncalibrated_seconds"] = 3e-3;
    rows[0]["prediction"]["layer2"]["launch"] = 5e-6;
    const auto measured = past_measurements(rows);
    EXPECT_EQ(measured[0].others.expected, 2e-3);
    EXPECT_EQ(measured[0].others.uncalibrated, 3e-3);
    EXPECT_GE(measured[0].others.launch_floor, measured[0].others.roofline + 5e-6);
    EXPECT_EQ(past_measurements_of_line(index_line(file, "c", measured)), measured);
    const Json old = index_line(file, "c", measured, 1);
    EXPECT_EQ(old.at("columns").back(), "measured");
    const auto read = past_measurements_of_line(old);
    EXPECT_EQ(read[0].others, OtherTimes{});
    EXPECT_EQ(read[0].measured, measured[0].measured);
}

TEST(PastMeasurement, one_without_its_prediction_is_kept_and_makes_no_residual) {
    std::vector<Json> rows = rows_of_two_cases();
    rows[0]["id"] = "another";
    const auto measured = past_measurements(rows);
    ASSERT_EQ(measured.size(), 2U);
    EXPECT_EQ(past_measurements_of_line(index_line(file, "c", measured)), measured);
    EXPECT_EQ(residuals_of(measured).size(), 1U);
}

TEST(PastMeasurement, one_that_is_unsettled_counts_from_schema_2_on) {
    std::vector<Json> rows = rows_of_two_cases();
    rows[1]["measurement"]["seconds_high"] = 1.0;
    rows[1]["measurement"]["unsettled"] = true;
    EXPECT_EQ(past_measurements(rows).size(), 2U) << "schema 1 counts as it always did";
    rows[1]["schema"] = 2;
    EXPECT_EQ(past_measurements(rows).size(), 1U);
}

TEST(PastMeasurement, rows_of_both_schemas_are_of_one_case) {
    std::vector<Json> rows = rows_of_two_cases();
    rows[3]["workload"] = rows[1]["workload"];
    rows[3]["written"] = "2026-01-02T00:00:00Z";
    rows[1] = example::as_schema_1(rows[1]);
    const auto found = past_measurements(rows);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].case_key(), found[1].case_key());
    EXPECT_EQ(residuals_of(found).size(), 1U);
}

TEST(PastMeasurement, the_index_does_not_lose_another_operation) {
    std::vector<Json> rows = rows_of_two_cases();
    rows[1]["pass"] = "backward";
    EXPECT_THROW(index_line(file, "c", past_measurements(rows)), std::runtime_error);
}

class PastIndex : public example::Folder {};

TEST_F(PastIndex, with_a_broken_line_is_refused) {
    const std::string index = path("index.jsonl");
    write(index, index_line(file, "c", {}).dump() + "\n");
    EXPECT_EQ(read_past(index).size(), 1U);
    write(index, index_line(file, "c", {}).dump() + "\n{\"path\":\"p\"}\n");
    EXPECT_THROW(read_past(index), std::runtime_error);
}

auto members(const Residual& r) {
    return std::tie(r.device_id, r.device_name, r.kernel, r.cold, r.newer_models, r.predicted,
                    r.residual);
}

// Of every receipt in the tree: should it leave, nothing that is made of it changes.
TEST(CommittedReceipts, residuals_of_a_file_are_those_of_its_line_in_the_index) {
    std::size_t residuals = 0;
    for (const PastFile& past : read_past_of_tree(std::string(RACELINE_SOURCE_DIR) + "/receipts")) {
        if (!std::filesystem::exists(past.path)) {
            continue;  // it has left: its line is all there is
        }
        if (std::ranges::any_of(past.measurements, [](const PastMeasurement& m) {
                return m.op != PastMeasurement{}.op || m.pass != PastMeasurement{}.pass;
            })) {
            EXPECT_ANY_THROW((void)index_line(file, "c", past.measurements)) << past.path;
            continue;  // the index has no columns for it: it cannot leave
        }
        const std::vector<Residual> of_rows = residuals_of(read_receipts(past.path).rows);
        const Json line = Json::parse(index_line(file, "c", past.measurements).dump());
        const std::vector<Residual> of_line = residuals_of(past_measurements_of_line(line));
        ASSERT_EQ(of_rows.size(), of_line.size()) << past.path;
        EXPECT_TRUE(std::ranges::equal(of_rows, of_line, {}, members, members)) << past.path;
        residuals += of_rows.size();
    }
    EXPECT_GE(residuals, 100U);
}

}  // namespace
}  // namespace raceline
