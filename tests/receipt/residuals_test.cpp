// SPDX-License-Identifier: Apache-2.0
#include "receipt/residuals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "example_rows.hpp"

namespace raceline {
namespace {

// A prediction and its measurement, as a run writes them.
class Residuals : public testing::Test {
protected:
    void add(const std::string& id, const std::string& written, double predicted, double measured,
             const std::string& model = "def") {
        Json p = example::prediction();
        p.update({{"kind", "prediction"}, {"id", std::string(32, id.front())}});
        p["prediction"]["seconds"] = predicted;
        p["prediction"]["model_hash"] = model;
        Json m = example::measurement(p);
        m.update({{"kind", "measurement"}, {"written", written}});
        m["measurement"]["seconds_median"] = measured;
        rows.push_back(p);
        rows.push_back(m);
    }
    std::vector<Json> rows;
};

TEST_F(Residuals, PredictedOverMeasuredLessOne) {
    add("a", "2026-01-01T00:00:00Z", 3e-4, 4e-4);
    const std::vector<Residual> found = residuals_of(rows);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_DOUBLE_EQ(found[0].residual, -0.25);
    EXPECT_DOUBLE_EQ(found[0].predicted, 3e-4);
    EXPECT_EQ(found[0].kernel, "cpu_flash");
    EXPECT_EQ(found[0].device_id, "cpu");
    EXPECT_EQ(found[0].device_name, "Some CPU");
    EXPECT_TRUE(found[0].cold);
}

TEST_F(Residuals, ACaseCountsOnceByItsNewestMeasurement) {
    add("a", "2026-01-02T00:00:00Z", 1e-4, 2e-4);
    add("b", "2026-01-01T00:00:00Z", 1e-4, 4e-4);
    ASSERT_EQ(residuals_of(rows).size(), 1U);
    EXPECT_DOUBLE_EQ(residuals_of(rows)[0].residual, -0.5);
    add("c", "2026-01-01T00:00:00Z", 1e-4, 4e-4);
    rows.back()["workload"]["seqlen_k"] = 513;
    EXPECT_EQ(residuals_of(rows).size(), 2U);
}

TEST_F(Residuals, CountsModelsThatPredictedLater) {
    const auto of_length = [this](int length) { rows.back()["workload"]["seqlen_k"] = length; };
    add("a", "2026-01-03T00:00:00Z", 1e-4, 2e-4, "newest");
    add("b", "2026-01-01T00:00:00Z", 1e-4, 2e-4, "oldest");
    of_length(513);
    add("c", "2026-01-02T00:00:00Z", 1e-4, 2e-4, "middle");
    of_length(514);
    add("d", "2026-01-01T00:00:00Z", 1e-4, 2e-4, "newest");
    of_length(515);
    add("e", "2026-01-04T00:00:00Z", 1e-4, 2e-4, "another kernel's");
    rows.back()["kernel"] = "simt";
    std::vector<int> newer;
    for (const Residual& residual : residuals_of(rows)) {
        newer.push_back(residual.newer_models);
    }
    EXPECT_THAT(newer, testing::UnorderedElementsAre(0, 2, 1, 0, 0));
}

TEST_F(Residuals, OnlyProvenAndTimedCasesWithTheirPrediction) {
    add("a", "2026-01-01T00:00:00Z", 1e-4, 2e-4);
    const std::vector<Json> whole = rows;
    rows[1]["correctness"]["passed"] = false;
    EXPECT_TRUE(residuals_of(rows).empty());
    rows = whole;
    rows[1]["measurement"] = nullptr;
    EXPECT_TRUE(residuals_of(rows).empty());
    rows = whole;
    rows[0]["id"] = "another";
    EXPECT_TRUE(residuals_of(rows).empty());
    rows = whole;
    rows[1].erase("tile");  // a form that is not known
    EXPECT_TRUE(residuals_of(rows).empty());
}

// What is rare on purpose says nothing of a usual call.
TEST_F(Residuals, LeaveOutSuitesOfOddCases) {
    add("a", "2026-01-01T00:00:00Z", 3e-4, 4e-4);
    for (Json& row : rows) {
        row["suite"] = "operations";
    }
    ASSERT_EQ(residuals_of(rows).size(), 1U);
    for (Json& row : rows) {
        row["suite"] = "operations-odd";
    }
    EXPECT_EQ(residuals_of(rows).size(), 0U);
}

}  // namespace
}  // namespace raceline
