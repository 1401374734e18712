// SPDX-License-Identifier: Apache-2.0
#include "receipt/row.hpp"

#include <cmath>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "raceline/error.hpp"
#include "receipt/rows.hpp"
#include "support/build_info.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

const std::vector<std::string> all_kinds{"prediction", "measurement", "counters",
                                         "comparison", "ceiling",     "check",
                                         "refusal",    "device",      "kernel"};

Json chained(const std::string& kind) {
    Json row = example::row(kind);
    row["prev"] = nullptr;
    row["hash"] = row_hash(row);
    return row;
}

std::string refusal(const Json& row) {
    try {
        validate_row(row);
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), Status::corrupt);
        return e.what();
    }
    return "accepted";
}

TEST(Row, BeginsWithTheMembersOfEveryRowInTheirOrder) {
    const Json row = example::row("kernel");
    std::vector<std::string> names;
    for (const auto& [name, value] : row.items()) {
        names.push_back(name);
    }
    EXPECT_THAT(names, testing::ElementsAre("schema", "kind", "id", "argv", "written", "git",
                                            "source_hash", "environment", "kernel", "tiles"));
    EXPECT_EQ(row.at("schema"), 2);
    EXPECT_EQ(row.at("environment").at("raceline"), build_info::version());
    EXPECT_NE(row.at("environment").at("kernel"), "");
}

TEST(Row, IdsAreFresh) {
    std::set<std::string> ids;
    for (int i = 0; i < 200; ++i) {
        ids.insert(example::row("kernel").at("id").get<std::string>());
    }
    EXPECT_EQ(ids.size(), 200U);
}

TEST(Row, ContentCannotReplaceTheRowsOwnMembers) {
    for (const char* own : {"kind", "id", "prev", "hash"}) {
        EXPECT_THROW(make_row(example::context(), "kernel", "", Json{{own, "x"}}), Error) << own;
    }
    EXPECT_THROW(make_row(example::context(), "kernels", "", Json::object()), Error);
    EXPECT_THROW(make_row(example::context(), "kernel", "", Json::array()), Error);
}

TEST(Row, NamesNoFolderOfTheMachine) {
    RowContext context = example::context();
    context.argv = {"/home/someone/build/raceline",
                    "--receipts=/var/tmp/a.jsonl",
                    "../b.jsonl",
                    "/",
                    "--shape",
                    "b=1,h=32/8"};
    EXPECT_EQ(make_row(context, "kernel", "", Json::object()).at("argv"),
              Json({"raceline", "--receipts=a.jsonl", "../b.jsonl", "", "--shape", "b=1,h=32/8"}));
}

TEST(Row, ArgumentsOfAnyBytesGiveAValidRow) {
    RowContext context = example::context();
    context.argv = {"räceline", "\x01\n\"\\\x7f", "\xff\xfe", "µ\xe2\x82", "日本"};
    const Json row = make_row(context, "kernel", "", Json{{"kernel", "k"}});
    const Json back = parse_json(dump_json(row), "row");
    EXPECT_EQ(back, row);
    EXPECT_EQ(back.at("argv").at(0), "räceline");
    EXPECT_EQ(back.at("argv").at(1), "\x01\n\"\\\x7f");
    EXPECT_EQ(back.at("argv").at(2), "\uFFFD\uFFFD");
    EXPECT_EQ(back.at("argv").at(4), "日本");
}

TEST(Row, HashIsOfTheRowWithoutItAndSeesEveryOtherMember) {
    Json row = chained("prediction");
    const std::string hash = row_hash(row);
    EXPECT_EQ(row.at("hash"), hash);
    row["hash"] = "something else";
    EXPECT_EQ(row_hash(row), hash);
    for (const auto& [name, value] : row.items()) {
        if (name != "hash") {
            Json changed = row;
            changed[name] = "changed";
            EXPECT_NE(row_hash(changed), hash) << name;
        }
    }
}

TEST(RowForm, ExamplesOfAllKindsHoldAlsoWithMoreMembers) {
    for (const std::string& kind : all_kinds) {
        EXPECT_TRUE(is_row_kind(kind));
        Json row = chained(kind);
        EXPECT_EQ(refusal(row), "accepted") << kind;
        row["extra"] = Json{{"free", nullptr}};
        row["git"]["extra"] = 1;
        EXPECT_EQ(refusal(row), "accepted") << kind;
    }
    EXPECT_FALSE(is_row_kind("predictions"));
    EXPECT_FALSE(is_row_kind(""));
}

// Every member that the examples have and the form names is needed: removed, or of another type, it
// is refused by its path. Free members are listed, so that a forgotten rule is seen.
void try_each_member(const Json& row, const Json::json_pointer& inside,
                     std::set<std::string>& free) {
    for (const auto& [name, value] : row.at(inside).items()) {
        const Json::json_pointer at = inside / name;
        Json without = row;
        without.at(inside).erase(name);
        Json wrong = row;
        wrong.at(at) = value.is_array() ? Json(true) : Json::array({Json::array()});
        const std::string missing = refusal(without);
        if (missing == "accepted") {
            free.insert(at.to_string());
            continue;
        }
        std::string path = at.to_string().substr(1);
        std::replace(path.begin(), path.end(), '/', '.');
        EXPECT_THAT(missing, AllOf(HasSubstr("\"" + path + "\""), HasSubstr("missing")));
        EXPECT_THAT(refusal(wrong), AllOf(HasSubstr("\"" + path + "\""), HasSubstr("must be")));
        if (value.is_object()) {
            try_each_member(row, at, free);
        }
    }
}

TEST(RowForm, EveryNamedMemberIsNeededAndTyped) {
    for (const std::string& kind : all_kinds) {
        std::set<std::string> free;
        try_each_member(chained(kind), Json::json_pointer(), free);
        for (const std::string& path : free) {
            EXPECT_THAT(path, MatchesRegex("/environment/.*|/tile/.*|/prediction/layer./.*|"
                                           "/counters/.*|/anything|/tiles|"
                                           "/peer/correctness/[^p].*"))
                << kind;
        }
    }
}

TEST(RowForm, ValuesOutOfRangeAreRefusedByName) {
    struct {
        const char *kind, *at, *value;
    } const cases[] = {
        {"check", "/schema", "3"},
        {"check", "/schema", "0"},
        {"check", "/schema", "1.0"},
        {"check", "/kind", "\"checks\""},
        {"check", "/id", "\"ABCD\""},
        {"check", "/hash", "\"00\""},
        {"check", "/written", "\"2026-11-21T06:30:00Z\""},
        {"check", "/written", "\"2026-11-21 06:30:00.123456Z\""},
        {"check", "/argv", "[1]"},
        {"check", "/device/id", "\"\""},
        {"check", "/tile", "{\"m\":[1]}"},
        {"check", "/workload/batch", "-1"},
        {"check", "/workload/batch", "1.5"},
        {"check", "/workload/batch", "18446744073709551615"},
        {"check", "/workload/dtype", "\"fp64\""},
        {"check", "/workload/mask", "\"diagonal\""},
        {"check", "/workload/window", "[1]"},
        {"check", "/workload/window", "[1,0.5]"},
        {"check", "/case/cold", "1"},
        {"check", "/case/regime", "\"idle\""},
        {"check", "/pass", "\"sideways\""},
        {"check", "/correctness/passed", "null"},
        {"check", "/correctness/relative_rms", "\"nan\""},
        {"measurement", "/correctness/worst", "null"},
        {"prediction", "/prediction/seconds", "-1e-9"},
        {"prediction", "/prediction/band", "[2,1]"},
        {"prediction", "/prediction/layer1", "{\"a\":\"b\"}"},
        {"measurement", "/measurement", "3"},
        {"measurement", "/measurement/samples", "2.5"},
        {"refusal", "/reason", "\"\""},
    };
    for (const auto& c : cases) {
        Json row = chained(c.kind);
        row.at(Json::json_pointer(c.at)) = Json::parse(c.value);
        std::string path = std::string(c.at).substr(1);
        std::replace(path.begin(), path.end(), '/', '.');
        EXPECT_THAT(refusal(row), HasSubstr("\"" + path + "\"")) << c.at << " = " << c.value;
    }
    EXPECT_THAT(refusal(Json::array()), HasSubstr("must be an object"));
}

TEST(RowForm, RowsOfSchema1LackWhatCameLaterAndMeanItsDefault) {
    for (const std::string& kind : all_kinds) {
        const Json old = example::as_schema_1(chained(kind));
        EXPECT_EQ(refusal(old), "accepted") << kind;
        Json today = old;
        today["schema"] = 2;
        EXPECT_EQ(refusal(today) == "accepted", old.size() == chained(kind).size()) << kind;
    }
    const Json row = chained("measurement");
    const auto old = row_from_json<MeasurementRow>(example::as_schema_1(row));
    EXPECT_EQ(old.about.op, "attention");
    EXPECT_EQ(old.about.pass, "forward");
    EXPECT_EQ(old.about.launch.regime, "sustained");
    EXPECT_FALSE(old.measurement->unsettled);
    EXPECT_EQ(case_key(example::as_schema_1(row)), case_key(row));
    Json alone = row;
    alone["case"]["regime"] = "alone";
    EXPECT_NE(case_key(alone), case_key(row));
    Json backward = row;
    backward["pass"] = "backward";
    EXPECT_NE(case_key(backward), case_key(row));
    // Without the word the interval says it.
    Json wide = example::as_schema_1(row);
    wide["measurement"]["seconds_high"] = 1.2e-4;
    EXPECT_TRUE(row_from_json<MeasurementRow>(wide).measurement->unsettled);
}

// What a struct reads and writes again is the row's content, to the last digit.
template <class Row>
void expect_same_again() {
    const Json content = example::content(Row::kind);
    EXPECT_EQ(nlohmann::json(row_to_json(row_from_json<Row>(content, 2))), nlohmann::json(content))
        << Row::kind;
    Json more = content;
    more["extra"] = Json{{"free", 1}};
    EXPECT_EQ(row_to_json(row_from_json<Row>(more, 2)).at("extra"), more.at("extra")) << Row::kind;
}

TEST(Rows, OfEachKindAreReadAndWrittenAlike) {
    expect_same_again<PredictionRow>();
    expect_same_again<MeasurementRow>();
    expect_same_again<CountersRow>();
    expect_same_again<ComparisonRow>();
    expect_same_again<CeilingRow>();
    expect_same_again<CheckRow>();
    expect_same_again<RefusalRow>();
    expect_same_again<DeviceRow>();
    expect_same_again<KernelRow>();
}

TEST(Rows, AFailedCaseHasNoMeasurement) {
    Json content = example::content("measurement");
    content["measurement"] = nullptr;
    content["correctness"]["passed"] = false;
    content["correctness"]["relative_rms"] = nullptr;
    content["correctness"]["why"] = "all wrong";
    const auto row = row_from_json<MeasurementRow>(content, 2);
    EXPECT_FALSE(row.measurement.has_value());
    EXPECT_TRUE(std::isnan(row.correctness.relative_rms));
    EXPECT_EQ(row.correctness.why, "all wrong");
    EXPECT_EQ(nlohmann::json(row_to_json(row)), nlohmann::json(content));
}

TEST(RowForm, AFailedCaseKeepsItsRowWithoutATime) {
    Json row = chained("measurement");
    row["correctness"]["passed"] = false;
    EXPECT_THAT(refusal(row), HasSubstr("holds a time although"));
    row["measurement"] = nullptr;
    EXPECT_EQ(refusal(row), "accepted");
}

TEST(RowForm, AnErrorThatIsNotFiniteIsNullAndReadAsNan) {
    Json row = chained("check");
    row["correctness"]["relative_rms"] = nullptr;
    EXPECT_EQ(refusal(row), "accepted");
    EXPECT_TRUE(std::isnan(number_or_nan(row["correctness"], "relative_rms")));
    EXPECT_EQ(number_or_nan(row["correctness"], "worst"), 2e-3);
    row["correctness"]["passed"] = true;
    EXPECT_THAT(refusal(row), HasSubstr("correctness.relative_rms"));
}

TEST(RowForm, NullsOfTheDesignAreAccepted) {
    Json row = chained("prediction");
    row["prediction"]["band"] = nullptr;
    row["workload"]["window"] = nullptr;
    EXPECT_EQ(refusal(row), "accepted");
}

TEST(DefaultPath, IsInTheStateFolderAndHoldsTimeNameAndCommit) {
    setenv("XDG_STATE_HOME", "/state", 1);
    EXPECT_THAT(
        default_receipt_path("random:7/..\n"),
        MatchesRegex("/state/raceline/20[0-9-]+T[0-9]+-random-7-\\.\\.--[0-9a-z]+\\.jsonl"));
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    EXPECT_THAT(default_receipt_path("x"), HasSubstr("/home/me/.local/state/raceline/"));
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    EXPECT_THROW(default_receipt_path("x"), Error);
}

}  // namespace
}  // namespace raceline
