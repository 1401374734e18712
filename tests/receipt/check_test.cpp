// SPDX-License-Identifier: Apache-2.0
// A valid file is changed in one way after another; each change must be found, in its line.
#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Check : public example::Folder {
protected:
    Check() {
        ReceiptWriter writer(path());
        writer.append(example::row("device"));
        const Json predicted = writer.append(example::row("prediction"));
        writer.append(
            make_row(example::context(), "measurement", "", example::measurement(predicted)));
        writer.append(example::row("check"));
        file_ = read_receipts(path());
    }

    /// Changes row `i` and gives it and its successors fitting hashes: only the content is wrong.
    ReceiptFile changed(std::size_t i, const std::function<void(Json&)>& change) const {
        ReceiptFile file = file_;
        change(file.rows[i]);
        example::chain_again(file);
        return file;
    }
    ReceiptFile file_;
    static constexpr const char* before_the_end = "2026-11-23T01:08:21.000000Z";
};

TEST_F(Check, AWrittenFileHolds) {
    ASSERT_EQ(file_.rows.size(), 4U);
    EXPECT_EQ(file_.rows[0].at("prev"), nullptr);
    EXPECT_EQ(file_.rows[1].at("prev"), file_.rows[0].at("hash"));
    EXPECT_EQ(example::findings(file_), "");
}

TEST_F(Check, EachChangedValueIsFoundByTheHash) {
    for (std::size_t i = 0; i < 4; ++i) {
        ReceiptFile file = file_;
        file.rows[i]["source_hash"] = "forged";
        EXPECT_THAT(example::findings(file),
                    AllOf(StartsWith(std::to_string(i + 1) + ": "), HasSubstr("changed")));
    }
}

TEST_F(Check, RemovedAndReorderedRowsBreakTheChain) {
    for (std::size_t i = 0; i + 1 < 4; ++i) {
        ReceiptFile file = file_;
        file.rows.erase(file.rows.begin() + static_cast<std::ptrdiff_t>(i));
        file.lines.pop_back();
        EXPECT_THAT(example::findings(file), HasSubstr(std::to_string(i + 1) + ": prev")) << i;
    }
    ReceiptFile file = file_;
    std::swap(file.rows[0], file.rows[3]);
    EXPECT_THAT(example::findings(file), AllOf(HasSubstr("1: prev"), HasSubstr("4: prev")));
}

TEST_F(Check, PairsThatDifferAreRefused) {
    struct {
        const char *at, *value, *named;
    } const cases[] = {{"/kernel", "\"other\"", "kernel"},
                       {"/tile/m", "65", "tile"},
                       {"/workload/seqlen_k", "513", "workload"},
                       {"/device/id", "\"h200\"", "device id"},
                       {"/case/threads", "3", "case"}};
    for (const auto& c : cases) {
        const ReceiptFile file =
            changed(2, [&](Json& row) { row.at(Json::json_pointer(c.at)) = Json::parse(c.value); });
        EXPECT_THAT(example::findings(file), AllOf(StartsWith(std::string("3: ") + c.named + " is"),
                                                   HasSubstr("prediction in line 2")));
    }
}

TEST_F(Check, ARowOfSchema1IsAboutTheSameCaseAsOneOfSchema2) {
    const auto findings = [&](const std::function<void(Json&)>& change) {
        ReceiptFile file = file_;
        for (Json& row : file.rows) {
            row["written"] = before_the_end;
        }
        file.rows[1] = example::as_schema_1(file.rows[1]);
        change(file.rows[2]);
        example::chain_again(file);
        return example::findings(file);
    };
    const std::string mixed =
        "2: schema 1 after rows of schema 2: a file is of one schema\n"
        "3: schema 2 after rows of schema 1: a file is of one schema\n";
    EXPECT_EQ(findings([](Json&) {}), mixed);
    EXPECT_THAT(findings([](Json& row) { row["case"]["regime"] = "alone"; }),
                StartsWith(mixed + "3: case is"));
    EXPECT_THAT(findings([](Json& row) { row["pass"] = "backward"; }),
                StartsWith(mixed + "3: pass is"));
}

TEST_F(Check, ARowIsOfOneOperation) {
    const auto findings = [&](const std::function<void(Json&)>& change) {
        ReceiptFile file = file_;
        change(file.rows[1]);
        change(file.rows[2]);
        example::chain_again(file);
        return example::findings(file);
    };
    EXPECT_EQ(findings([](Json&) {}), "");
    EXPECT_EQ(findings([](Json& row) { row["op"] = "scale"; }),
              "2: op is \"scale\", but its workload's is \"attention\"\n"
              "3: op is \"scale\", but its workload's is \"attention\"\n");
    const Json other = Json::parse(R"({"op":"scale","dtype":"fp32","extents":{"n":5},
        "scalars":{}})");
    EXPECT_EQ(findings([&](Json& row) {
                  row["op"] = "scale";
                  row["workload"] = other;
              }),
              "");
    EXPECT_THAT(findings([&](Json& row) { row["workload"] = other; }),
                StartsWith("2: op is \"attention\", but its workload's is \"scale\"\n"));
    EXPECT_THAT(findings([&](Json& row) {
                    row["op"] = "scale";
                    row["workload"] = other;
                    row["workload"].erase("extents");
                }),
                StartsWith("2: member \"workload.extents\" is missing"));
}

TEST_F(Check, Schema1EndsWithTheDayOfSchema2) {
    const auto findings = [&](const char* written) {
        ReceiptFile file = file_;
        for (Json& row : file.rows) {
            row = example::as_schema_1(row);
            row["written"] = written;
        }
        example::chain_again(file);
        return example::findings(file);
    };
    EXPECT_EQ(findings(before_the_end), "");
    for (const char* line : {"1: ", "2: ", "3: ", "4: "}) {
        EXPECT_THAT(findings("2026-11-24T00:00:00.000000Z"),
                    HasSubstr(std::string(line) + "schema 1, written 2026-11-24T00:00:00.000000Z: "
                                                  "schema 1 was replaced by 2 on 2026-11-24"));
    }
}

TEST_F(Check, APredictionIsMeasuredOnce) {
    ReceiptWriter(path()).append(
        make_row(example::context(), "measurement", "", example::measurement(file_.rows[1])));
    EXPECT_EQ(example::findings(read_receipts(path())),
              "5: prediction_id " + file_.rows[1].at("id").get<std::string>() +
                  " is also that of the measurement in line 3: a prediction is measured once\n");
}

TEST_F(Check, PredictionsThatNoRowAnswersAreCounted) {
    EXPECT_TRUE(unanswered_predictions(file_).empty());
    const auto with = [&](const std::string& kind, const std::function<void(Json&)>& change) {
        ReceiptFile file = file_;
        file.rows[2] = example::row(kind);
        file.rows[3]["kernel"] = "another";
        change(file.rows[2]);
        return unanswered_predictions(file);
    };
    const std::vector<std::size_t> line{2};
    EXPECT_EQ(with("device", [](Json&) {}), line);
    for (const char* kind : {"refusal", "check"}) {
        EXPECT_TRUE(with(kind, [](Json&) {}).empty()) << kind;
    }
    EXPECT_TRUE(with("comparison", [&](Json& row) {
                    row["prediction_id"] = file_.rows[1].at("id");
                }).empty());
    ReceiptFile other = file_;
    other.rows[2]["prediction_id"] = std::string(32, 'f');
    other.rows[3]["kernel"] = "another";
    EXPECT_EQ(unanswered_predictions(other), line);
}

TEST_F(Check, UnsettledMustAgreeWithTheInterval) {
    const auto findings = [&](double high, bool unsettled, int samples, int disturbed) {
        return example::findings(changed(2, [&](Json& row) {
            Json& m = row["measurement"];
            m["seconds_high"] = high;
            m["unsettled"] = unsettled;
            m["samples"] = samples;
            m["disturbed"] = disturbed;
        }));
    };
    EXPECT_EQ(findings(1.02e-4, false, 21, 30), "");
    EXPECT_EQ(findings(1.3e-4, true, 21, 0), "");
    EXPECT_THAT(findings(1.3e-4, false, 21, 0),
                StartsWith("3: measurement.unsettled is false, but its interval"));
    EXPECT_THAT(findings(1.02e-4, true, 21, 0),
                StartsWith("3: measurement.unsettled is true, but its interval"));
    EXPECT_EQ(findings(1.02e-4, true, 21, 19), "") << "two samples were left";
}

TEST_F(Check, MemberOrderMakesNoOtherCase) {
    const ReceiptFile file =
        changed(2, [](Json& row) { row["tile"] = Json{{"n", 128}, {"m", 64}}; });
    EXPECT_EQ(example::findings(file), "");
}

TEST_F(Check, AMeasurementNeedsAnEarlierPrediction) {
    EXPECT_THAT(example::findings(
                    changed(2, [](Json& row) { row["prediction_id"] = std::string(32, 'f'); })),
                HasSubstr("3: prediction_id ffff"));
    // Of another kind, though the id exists.
    const Json device_id = file_.rows[0].at("id");
    EXPECT_THAT(example::findings(changed(2, [&](Json& row) { row["prediction_id"] = device_id; })),
                HasSubstr("no earlier prediction"));
    // Later in the file.
    ReceiptFile file = file_;
    std::swap(file.rows[1], file.rows[2]);
    EXPECT_THAT(example::findings(file), HasSubstr("2: prediction_id"));
    // Written later by its own clock.
    EXPECT_THAT(example::findings(
                    changed(1, [](Json& row) { row["written"] = "2999-01-01T00:00:00.000000Z"; })),
                HasSubstr("before its prediction in line 2"));
}

TEST_F(Check, CountersNeedAnEarlierMeasurement) {
    ReceiptWriter writer(path());
    Json row = example::row("counters");
    row["measurement_id"] = file_.rows[2].at("id");
    writer.append(row);
    EXPECT_EQ(example::findings(read_receipts(path())), "");
    row = example::row("counters");
    row["measurement_id"] = file_.rows[1].at("id");  // a prediction
    writer.append(row);
    EXPECT_THAT(example::findings(read_receipts(path())), StartsWith("6: measurement_id"));
}

TEST_F(Check, IdsAreUnique) {
    const Json id = file_.rows[0].at("id");
    EXPECT_THAT(example::findings(changed(3, [&](Json& row) { row["id"] = id; })),
                AllOf(StartsWith("4: id "), HasSubstr("line 1")));
}

TEST_F(Check, BadLinesAndRowsOfAWrongFormAreFindings) {
    ReceiptFile file = file_;
    file.rows[1].erase("prediction");
    file.bad.push_back({9, "unreadable"});
    EXPECT_THAT(example::findings(file), AllOf(HasSubstr("2: member \"prediction\" is missing"),
                                               HasSubstr("9: unreadable")));
}

}  // namespace
}  // namespace raceline
