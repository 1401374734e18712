// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <gtest/gtest.h>
#include <regex>
#include <string_view>

#include "raceline/error.hpp"
#include "support/file_names.hpp"
#include "support/nearest.hpp"
#include "support/one_line.hpp"
#include "support/sha256.hpp"
#include "support/text_table.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

TEST(TextTable, PadsByCodePointsAndAlignsNumbersRight) {
    TextTable table({{"kernel"}, {"time", TextTable::Align::right}});
    table.add({"flash", "12.3 µs"});
    table.add({"é", "4 s"});
    EXPECT_EQ(table.str(),
              "kernel     time\n"
              "------  -------\n"
              "flash   12.3 µs\n"
              "é           4 s\n");
}

TEST(TextTable, ReadsItsColumnsFromALine) {
    TextTable written("kernel, and tile | >time | limiter");
    TextTable listed({{"kernel, and tile"}, {"time", TextTable::Align::right}, {"limiter"}});
    for (TextTable* table : {&written, &listed}) {
        table->add({"simt", "1.00 ms", "dram"});
        table->add({"prefill_mma", "10.0 µs", "tail"});
    }
    EXPECT_EQ(written.str(), listed.str());
    EXPECT_EQ(written.markdown(), listed.markdown());
}

TEST(TextTable, MarkdownEscapesItsSeparator) {
    TextTable table({{"a"}, {"b", TextTable::Align::right}});
    table.add({"x|y", "1\n2"});
    EXPECT_EQ(table.markdown(), "| a | b |\n|---|---:|\n| x\\|y | 1 2 |\n");
}

TEST(FormatSignedPercent, has_no_sign_where_it_rounds_to_nothing) {
    EXPECT_EQ(format_signed_percent(0.034), "+3 %");
    EXPECT_EQ(format_signed_percent(-0.034, 1), "-3.4 %");
    EXPECT_EQ(format_signed_percent(10), "+1000 %");
    EXPECT_EQ(format_signed_percent(-0.004), "0 %");
    EXPECT_EQ(format_signed_percent(0.004), "0 %");
    EXPECT_EQ(format_signed_percent(-0.0), "0 %");
    EXPECT_EQ(format_signed_percent(-0.0004, 1), "0.0 %");
    EXPECT_EQ(format_signed_percent(-0.0006, 1), "-0.1 %");
}

TEST(TextTable, RefusesARowOfAnotherWidth) {
    TextTable table({{"a"}, {"b"}});
    EXPECT_THROW(table.add({"1"}), Error);
    EXPECT_THROW(table.add({"1", "2", "3"}), Error);
}

TEST(FormatSeconds, ThreeDigitsAndThePrefixThatFits) {
    EXPECT_EQ(format_seconds(12.34e-6), "12.3 µs");
    EXPECT_EQ(format_seconds(4.56e-3), "4.56 ms");
    EXPECT_EQ(format_seconds(1), "1.00 s");
    EXPECT_EQ(format_seconds(123.4), "123 s");
    EXPECT_EQ(format_seconds(3600), "3600 s");
    EXPECT_EQ(format_seconds(5e-9), "5.00 ns");
    EXPECT_EQ(format_seconds(0.2e-9), "200 ps");
    EXPECT_EQ(format_seconds(0), "0 s");
    EXPECT_EQ(format_seconds(-1.5e-3), "-1.50 ms");
}

TEST(FormatSeconds, RoundingUpTakesTheNextPrefixOrOneDigitLess) {
    EXPECT_EQ(format_seconds(999.4e-6), "999 µs");
    EXPECT_EQ(format_seconds(999.6e-6), "1.00 ms");
    EXPECT_EQ(format_seconds(9.996e-3), "10.0 ms");
    EXPECT_EQ(format_seconds(99.96e-3), "100 ms");
}

TEST(FormatSi, UnitFollowsThePrefix) {
    EXPECT_EQ(format_si(1234567, "B"), "1.23 MB");
    EXPECT_EQ(format_si(1234567, ""), "1.23 M");
    EXPECT_EQ(format_si(4.8e12, "B/s"), "4.80 TB/s");
    EXPECT_EQ(format_si(989.4e12, "flop/s"), "989 Tflop/s");
    EXPECT_EQ(format_si(12, ""), "12.0");
    EXPECT_EQ(format_si(0, "B"), "0 B");
}

// Three hundred digits, or nothing but zeros, say less than a power of ten.
TEST(FormatNumbers, beyond_all_prefixes_stand_in_powers_of_ten) {
    EXPECT_EQ(format_seconds(1e300), "1.00e+300 s");
    EXPECT_EQ(format_seconds(-2.5e9), "-2.50e+09 s");
    EXPECT_EQ(format_seconds(5e-324), "4.94e-324 s");
    EXPECT_EQ(format_seconds(999'000), "999000 s");
    EXPECT_EQ(format_si(1e40, "FLOP/s"), "1.00e+40 FLOP/s");
    EXPECT_EQ(format_si(1e-40, "FLOP/s"), "1.00e-40 FLOP/s");
    EXPECT_EQ(format_fixed(1.23456, 3), "1.235");
    EXPECT_EQ(format_fixed(1e300, 3), "1.00e+300");
    EXPECT_EQ(format_fixed(-1e300, 0), "-1.00e+300");
    EXPECT_EQ(format_signed_percent(1e300), "+1.00e+302 %");
    EXPECT_EQ(format_signed_percent(-1e300, 1), "-1.00e+302 %");
}

TEST(UtcNow, IsRfc3339WithMicrosecondsAndDoesNotRunBackwards) {
    const std::string first = utc_now();
    const std::string second = utc_now();
    EXPECT_TRUE(std::regex_match(
        first, std::regex(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{6}Z)")))
        << first;
    EXPECT_LE(first, second);
}

// The two vectors of FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, PublishedVectors) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Nearest, FindsWhatWasMeantAndNothingFarther) {
    constexpr std::array<std::string_view, 3> names{"window", "dtype", "heads"};
    EXPECT_EQ(nearest("windw", names), "window");
    EXPECT_EQ(nearest("dtpye", names), "dtype");  // letters that changed places are one edit
    EXPECT_EQ(nearest("dpyte", names), "");       // two edits, a third of five letters is one
    EXPECT_EQ(nearest("detype", names), "dtype");
    EXPECT_EQ(nearest("softcap", names), "");
    EXPECT_EQ(nearest("x", std::array<std::string_view, 2>{"b", "h"}), "");
}

TEST(Nearest, TakesAnotherSpellingOrAPartForTheWord) {
    constexpr std::array<std::string_view, 6> devices{"a10",  "a100-40", "a100-80",
                                                      "b200", "h200",    "rtx4090"};
    EXPECT_EQ(nearest("H200", devices), "h200");
    EXPECT_EQ(nearest("a100", devices), "a100-80");
    EXPECT_EQ(nearest("A100 80GB", devices), "a100-80");
    EXPECT_EQ(nearest("4090", devices), "rtx4090");
    EXPECT_EQ(nearest("H", std::array<std::string_view, 2>{"b", "h"}), "h");
}

TEST(FileNames, HaveAsManyFoldersAsTellThemApart) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(short_names({"a/b/one.jsonl", "a/b/two.jsonl"}), (Names{"one.jsonl", "two.jsonl"}));
    EXPECT_EQ(short_names({"x/a/run.jsonl", "x/b/run.jsonl", "x/b/other.jsonl"}),
              (Names{"a/run.jsonl", "b/run.jsonl", "other.jsonl"}));
    EXPECT_EQ(short_names({"a/c/run.jsonl", "b/c/run.jsonl"}),
              (Names{"a/c/run.jsonl", "b/c/run.jsonl"}));
    EXPECT_EQ(short_names({"/run.jsonl", "run.jsonl", "a/run.jsonl"}),
              (Names{"/run.jsonl", "run.jsonl", "a/run.jsonl"}));
    EXPECT_EQ(short_names({"a/run.jsonl", "a/run.jsonl"}), (Names{"run.jsonl", "run.jsonl"}));
}

TEST(OneLine, KeepsTextAndEscapesWhatIsNone) {
    EXPECT_EQ(one_line("q is 3 µs – fine"), "q is 3 µs – fine");
    EXPECT_EQ(one_line("a\nb\x1b[K\x7f"), "a\\x0Ab\\x1B[K\\x7F");
    EXPECT_EQ(one_line("cut \xc3"), "cut \\xC3");                     // half a character
    EXPECT_EQ(one_line("\xc0\x80\xff"), "\\xC0\\x80\\xFF");           // overlong, no UTF-8
    EXPECT_EQ(one_line("\xc2\x9b[K"), "\\xC2\\x9B[K");                // a control character
    EXPECT_EQ(one_line("\xed\xa0\x80"), "\\xED\\xA0\\x80");           // a surrogate
    EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // beyond U+10FFFF
}

}  // namespace
}  // namespace raceline
