// SPDX-License-Identifier: Apache-2.0
#include "support/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "raceline/error.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(std::string_view text) {
    try {
        parse_json(text, "devices/x.json");
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), Status::corrupt);
        return e.what();
    }
    return "accepted";
}

TEST(Json, KeepsOrderAndValues) {
    const std::string text = R"({"z":1,"a":[true,null,-7,0.1],"m":{"é":"\u0001\n"}})";
    EXPECT_EQ(dump_json(parse_json(text, "text")), text);
}

TEST(Json, NumbersSurviveARoundTripBitForBit) {
    for (const double value : {0.1, 1e-300, 5e-324, 1.7976931348623157e308, 3.0, -0.0, 1.0 / 3}) {
        const Json back = parse_json(dump_json(Json(value)), "text");
        ASSERT_TRUE(back.is_number_float());
        EXPECT_EQ(std::signbit(back.get<double>()), std::signbit(value));
        EXPECT_EQ(back.get<double>(), value);
    }
    EXPECT_EQ(dump_json(parse_json("18446744073709551615", "text")), "18446744073709551615");
}

TEST(Json, ErrorsNameSourceByteAndReason) {
    EXPECT_THAT(refusal(R"({"a":tru})"),
                AllOf(HasSubstr("devices/x.json"), HasSubstr("byte 9"), HasSubstr("literal")));
    EXPECT_THAT(refusal(""), HasSubstr("byte 1"));
    EXPECT_THAT(refusal("{} {}"), HasSubstr("byte 4"));
    EXPECT_THAT(refusal("1e999"), HasSubstr("1e999"));
    // What was read is not repeated: it may be long or no text at all.
    EXPECT_THAT(refusal("\"\xff" + std::string(5000, 'x')),
                AllOf(HasSubstr("byte 2"), Not(HasSubstr("xxx"))));
}

TEST(Json, DepthIsLimitedSoThatNoLineOverflowsTheStack) {
    const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_EQ(refusal(nested(64)), "accepted");
    EXPECT_THAT(refusal(nested(65)), HasSubstr("deeper than 64"));
    EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("deeper than 64"));
    std::string objects;
    for (int i = 0; i < 65; ++i) {
        objects += "{\"a\":";
    }
    EXPECT_THAT(refusal(objects), HasSubstr("deeper than 64"));
}

TEST(Json, AmbiguousAndHugeObjectsAreRefused) {
    EXPECT_THAT(refusal(R"({"b":{"a":1,"a":2}})"), HasSubstr("\"a\" appears twice"));
    EXPECT_EQ(refusal(R"([{"a":1},{"a":2},{"b":{"a":3},"a":4}])"), "accepted");
    std::string wide = "{\"0\":0";
    for (int i = 1; i < 4097; ++i) {
        wide += ",\"" + std::to_string(i) + "\":0";
    }
    EXPECT_THAT(refusal(wide + "}"), HasSubstr("more than 4096 members"));
}

TEST(Json, WhatHasNoSpellingIsRefusedByPath) {
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        try {
            dump_json(Json{{"a", {{"b", {1.0, value}}}}});
            FAIL() << "wrote " << value;
        } catch (const Error& e) {
            EXPECT_EQ(e.status(), Status::internal);
            EXPECT_THAT(e.what(), HasSubstr("/a/b/1"));
        }
    }
    EXPECT_THROW(dump_json(Json("\xff")), Error);
}

}  // namespace
}  // namespace raceline
