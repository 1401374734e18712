// SPDX-License-Identifier: Apache-2.0
// Tables and texts that fit a width: what is said once, shortened, broken and left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "support/nearest.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::size_t widest(const std::string& text) {
    std::size_t most = 0;
    for (const std::string& line : lines_of(text)) {
        most = std::max(most, text_width(line));
    }
    return most;
}

TextTable measured() {
    TextTable table("shape | ?1 tile | >measured | >?3 rate | >?2 error");
    table.add({"h=8,k=4096", "rows=256,keys=96", "1.23 ms", "100 GFLOP/s", "+3 %"});
    table.add({"h=8,k=8192", "rows=256,keys=192", "2.46 ms", "101 GFLOP/s", "-1 %"});
    return table;
}

TEST(TextTable, IsAsWideAsItTakesUnlessTold) {
    EXPECT_EQ(widest(measured().str()), 59U);
    EXPECT_EQ(measured().str(), measured().str({.columns = 59}));
}

TEST(TextTable, BreaksNoWordWhereAnotherColumnCanGiveOrLeave) {
    // Each time the columns that are broken have other widths.
    for (const std::size_t columns : {60U, 48U, 40U, 34U}) {
        TextTable table("shape | launch | ?1 tile | >measured");
        table.column("launch").least = 4;
        table.add({"b=4,h=8,q=4096,k=4096,d=128", "cold, sustained", "rows=256", "1.23 ms"});
        table.add({"b=4,h=8,q=8192,k=8192,d=128", "warm, sustained", "rows=128", "2.46 ms"});
        EXPECT_THAT(table.str({.columns = columns}), HasSubstr("sustained")) << columns;
        EXPECT_LE(widest(table.str({.columns = columns})), columns);
    }
}

TEST(TextTable, LosesColumnsByPriorityAndSaysWhich) {
    const std::string one = measured().str({.columns = 58});
    EXPECT_THAT(lines_of(one).front(), testing::MatchesRegex("shape +measured +rate +error"));
    EXPECT_THAT(one, HasSubstr("left out for lack of room: tile; --wide shows all\n"));
    const std::string two = measured().str({.columns = 36});
    EXPECT_THAT(lines_of(two).front(), testing::MatchesRegex("shape +measured +rate"));
    EXPECT_THAT(two, AllOf(HasSubstr("left out for lack of room: tile,"), HasSubstr("error;")));
    EXPECT_LE(widest(two), 36U);
    const std::string none = measured().str({.columns = 22});
    EXPECT_THAT(none, AllOf(HasSubstr("h=8,k=4096   1.23 ms\n"), HasSubstr("h=8,k=8192")));
}

// A priority of 0 is the first to go, and of equals the last column.
TEST(TextTable, OfEqualPrioritiesTheLastGoesFirst) {
    TextTable table("name | ?1 first | ?1 second | ?0 hash");
    table.add({"a", "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"});
    EXPECT_THAT(lines_of(table.str({.columns = 28})).front(), Not(HasSubstr("hash")));
    EXPECT_THAT(lines_of(table.str({.columns = 18})).front(),
                AllOf(HasSubstr("first"), Not(HasSubstr("second"))));
}

// A column that is too wide leaves last, and does not keep out narrower ones that have room.
TEST(TextTable, ColumnsThatHaveRoomAfterAllStay) {
    TextTable table("name | ?7 tile | ?3 time | ?2 error");
    table.add({"a", "rows=128,keys=128,stages=3,turns=0", "1.2 ms", "+3 %"});
    table.add({"b", "rows=256,keys=128,stages=3,turns=0", "1.3 ms", "+4 %"});
    const std::string text = table.str({.columns = 24});
    EXPECT_THAT(lines_of(text).front(), testing::MatchesRegex("name +time +error"));
    EXPECT_THAT(text, HasSubstr("room: tile;"));
}

TEST(TextTable, SaysOnceWhatEveryRowSays) {
    TextTable table("kernel | shape | >time | >none");
    table.add({"cpu_flash", "h=8,k=4096", "1.23 ms", ""});
    table.add({"cpu_flash", "h=8,k=8192", "2.46 ms", ""});
    const std::string text = table.str({.columns = 20});
    EXPECT_THAT(lines_of(text).front(), testing::MatchesRegex("shape +time"));
    EXPECT_THAT(text, AllOf(HasSubstr("in all rows: kernel\n= cpu_flash\n"), Not(HasSubstr("none")),
                            Not(HasSubstr("--wide"))))
        << "nothing is lost";
    EXPECT_THAT(table.str(), HasSubstr("none"));
}

TEST(TextTable, OneRowKeepsWhatItSays) {
    TextTable table("kernel | shape | >time | >none");
    table.add({"cpu_flash", "h=8,k=4096", "1.23 ms", ""});
    const std::string text = table.str({.columns = 31});
    EXPECT_THAT(text, AllOf(HasSubstr("cpu_flash  h=8,k=4096  1.23 ms"), Not(HasSubstr("none")),
                            Not(HasSubstr("in all rows"))));
}

std::string first_letter(std::string_view cell) {
    return std::string(cell.substr(0, 1)) + "…";
}

std::string without_plus(std::string_view cell) {
    return std::string(cell.substr(cell.starts_with('+') ? 1 : 0));
}

// Whose shorter forms tell all that the cells did lacks nothing.
TEST(TextTable, SaysNothingOfShorterFormsThatLoseNothing) {
    TextTable table("name | >time");
    table.column("name").shortened = without_plus;
    table.add({"+alpha", "1 s"});
    table.add({"+beta", "2 s"});
    EXPECT_EQ(table.str({.columns = 11}), "name   time\n-----  ----\nalpha   1 s\nbeta    2 s\n");
}

// Two rows that would look the same keep their long cells.
TEST(TextTable, ShortensOnlyWhatStaysApart) {
    TextTable table("name | >time");
    table.column("name").shortened = first_letter;
    table.add({"alpha-alpha-alpha", "1 s"});
    table.add({"beta-beta-beta-01", "2 s"});
    table.add({"beta-beta-beta-02", "3 s"});
    table.add({"alpha-alpha-alpha", "4 s"});
    const std::string text = table.str({.columns = 21});
    EXPECT_THAT(text,
                AllOf(HasSubstr("\na…   "), HasSubstr("beta-beta-beta"), HasSubstr("shortened:")));
    EXPECT_THAT(table.str({.columns = 23}), Not(HasSubstr("shortened")));
}

TEST(TextTable, BreaksSentencesBeforeColumnsLeave) {
    TextTable table("kernel | ?1 tiles | what it is");
    table.column("what it is").least = 12;
    table.add({"simt", "many", "plain CUDA cores, any GPU, every option"});
    const std::string text = table.str({.columns = 34});
    EXPECT_THAT(lines_of(text),
                ElementsAre("kernel  tiles  what it is", "------  -----  -------------------",
                            "simt    many   plain CUDA cores,", "               any GPU, every",
                            "               option"));
    // A column of a lower priority than broken_before goes first.
    table.column("what it is").broken_before = 2;
    EXPECT_THAT(lines_of(table.str({.columns = 47})).front(), "kernel  what it is");
}

TEST(TextTable, BreaksTheWidestTextWhereNothingElseHelps) {
    TextTable table("shape | >time");
    table.add({"h=32/8,q=1;2;3;4;5,k=100;200;300;400,d=128", "1.23 ms"});
    const std::string text = table.str({.columns = 30});
    EXPECT_LE(widest(text), 30U);
    std::string shape;
    for (std::size_t i = 2; i < lines_of(text).size(); ++i) {
        shape += lines_of(text)[i].substr(0, lines_of(text)[i].find(' '));
    }
    EXPECT_EQ(shape, "h=32/8,q=1;2;3;4;5,k=100;200;300;400,d=128") << "nothing of it is lost";
}

// However narrow, it ends, and no row is lost.
// A terminal gives them two columns, and none to an accent of its own.
TEST(TextTable, CountsColumnsOfWideCharacters) {
    EXPECT_EQ(text_width("行列"), 4U);
    EXPECT_EQ(text_width("e\u0301µ×"), 3U);
    EXPECT_EQ(text_width("🚀"), 2U);
    TextTable table("name | >time");
    table.add({"行列積", "1 s"});
    table.add({"matmul", "2 s"});
    EXPECT_THAT(table.str(), testing::HasSubstr("\n行列積   1 s\nmatmul   2 s\n"));
    EXPECT_EQ(broken_lines("行列積の時間", 5), (std::vector<std::string>{"行列", "積の", "時間"}));
    EXPECT_EQ(broken_lines("行列", 1), (std::vector<std::string>{"行", "列"}))
        << "one character a line where none fits";
}

TEST(TextTable, EndsAtAnyWidth) {
    for (std::size_t columns = 1; columns < 70; ++columns) {
        const std::string text = measured().str({.columns = columns});
        EXPECT_THAT(text, AllOf(HasSubstr("1.23 ms"), HasSubstr("2.46 ms"))) << columns;
    }
    EXPECT_EQ(TextTable("a | b").str({.columns = 1}).find("in all rows"), std::string::npos);
}

Ink red_if_bad(std::string_view cell) {
    return cell == "bad" ? Ink::bad : Ink::plain;
}

TEST(TextTable, ColoursTextAndNoSpace) {
    TextTable table("name | state");
    table.column("state").ink = red_if_bad;
    table.add({"a", "bad"});
    table.add({"b", "fine"});
    EXPECT_THAT(table.str(), Not(HasSubstr("\x1b")));
    const std::string text = table.str({.colour = true});
    EXPECT_THAT(text, HasSubstr("a     \x1b[1;31mbad\x1b[0m\n"));
    EXPECT_THAT(text, HasSubstr("b     fine\n"));
    EXPECT_THAT(text, StartsWith("\x1b[1mname\x1b[0m"));
}

TEST(TextTable, ShowsControlCharactersOfNames) {
    TextTable table("name");
    table.add({"a\x1b[2Jb"});
    EXPECT_THAT(table.str(), HasSubstr("a\\x1B[2Jb"));
}

TEST(BrokenLines, BreakAtSpacesThenBehindCommasThenAnywhere) {
    EXPECT_THAT(broken_lines("one two three", 8), ElementsAre("one two", "three"));
    EXPECT_THAT(broken_lines("a=1,bb=22,ccc=333", 8), ElementsAre("a=1,", "bb=22,", "ccc=333"));
    EXPECT_THAT(broken_lines("as in b=1,h=32,k=4", 12), ElementsAre("as in b=1,", "h=32,k=4"));
    EXPECT_THAT(broken_lines("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
    EXPECT_THAT(broken_lines("µµµµ", 2), ElementsAre("µµ", "µµ"));
    EXPECT_THAT(broken_lines("all of it", 0), ElementsAre("all of it"));
    EXPECT_THAT(broken_lines("", 5), ElementsAre(""));
}

TEST(BrokenLines, BreakNamesBehindAnUnderscore) {
    EXPECT_THAT(broken_lines("prefill_sm90", 11), ElementsAre("prefill_", "sm90"));
    EXPECT_THAT(broken_lines("a_longword", 6), ElementsAre("a_long", "word"));
}

TEST(Paragraph, IndentsWhatFollows) {
    EXPECT_EQ(paragraph("one two three", {.columns = 8}), "one two\n  three\n");
    EXPECT_EQ(paragraph("one two three", {}), "one two three\n");
    // A path can be copied.
    EXPECT_EQ(paragraph("kept in /a/long/path/f.jsonl today", {.columns = 12}),
              "kept in\n  /a/long/path/f.jsonl\n  today\n");
    EXPECT_EQ(paragraph("/a/long/path is a file", {.columns = 9}, 0), "/a/long/path\nis a file\n");
    EXPECT_EQ(paragraph("in /tmp/x h=32/8,k=4", {.columns = 10}, 0), "in /tmp/x\nh=32/8,k=4\n");
}

TEST(FormatQuantity, KnowsTheUnitsOfReceipts) {
    EXPECT_EQ(format_quantity(7e-7, "s"), "700 ns");
    EXPECT_EQ(format_quantity(4.62e12, "byte/s"), "4.62 TB/s");
    EXPECT_EQ(format_quantity(9.89e14, "flop/s"), "989 TFLOP/s");
    EXPECT_EQ(format_quantity(9.83e-11, "J"), "98.3 pJ");
    EXPECT_EQ(format_quantity(1.25, "1"), "1.25");
    EXPECT_EQ(format_percent(0.034), "3 %");
    EXPECT_EQ(format_percent(0.0345, 1), "3.5 %");
    EXPECT_EQ(format_number(1024.4), "1024");
    EXPECT_EQ(format_number(0.25), "0.25");
}

TEST(MarkdownTable, IsLeftAloneWhereAPageHasRoom) {
    TextTable table("name | >time");
    table.add({"a|b", "1"});
    EXPECT_EQ(table.markdown(), "| name | time |\n|---|---:|\n| a\\|b | 1 |\n");
}

TEST(MarkdownTable, SaysOnceWhatEveryRowSays) {
    TextTable table("name | ?1 text | >time");
    table.add({"a", std::string(90, 'x'), "1"});
    table.add({"b", std::string(90, 'x'), "2"});
    EXPECT_EQ(table.markdown(), "In every row: text " + std::string(90, 'x') +
                                    ".\n\n| name | time |\n|---|---:|\n| a | 1 |\n| b | 2 |\n");
}

TEST(MarkdownTable, DealsColumnsOutWithTheNamesOfTheirRows) {
    TextTable table("name | >first | >second");
    table.add({"a", std::string(50, '1'), std::string(50, '2')});
    table.add({"b", "3", ""});
    EXPECT_EQ(table.markdown(), "| name | first |\n|---|---:|\n| a | " + std::string(50, '1') +
                                    " |\n| b | 3 |\n\n| name | second |\n|---|---:|\n| a | " +
                                    std::string(50, '2') + " |\n")
        << "the second has no row that says nothing";
}

TEST(MarkdownTable, HasAHeadingForEachWhereNamesTakeTheRoom) {
    const std::string device(40, 'd'), kernel(40, 'k');
    TextTable table("device | kernel | >first | >second");
    table.add({device, kernel, "12345678901", "1"});
    table.add({"other", "k", "2", "3"});
    const std::string heads = "| kernel | first | second |\n|---|---:|---:|\n";
    EXPECT_EQ(table.markdown(), "**" + device + "**\n\n" + heads + "| " + kernel +
                                    " | 12345678901 | 1 |\n\n**other**\n\n" + heads +
                                    "| k | 2 | 3 |\n");
}

TEST(MarkdownTable, IsAListWhereATextIsLongerThanAPage) {
    TextTable table("name | ?1 what it is");
    table.add({"a", std::string(120, 'x')});
    table.add({"b", "short"});
    EXPECT_EQ(table.markdown(), "what it is:\n\n- a: " + std::string(120, 'x') + "\n- b: short\n");
}

TEST(CountedText, HasASingularAndAPlural) {
    EXPECT_EQ(counted_text(1, "case"), "1 case");
    EXPECT_EQ(counted_text(0, "case"), "0 cases");
    EXPECT_EQ(counted_text(2, "process", "processes"), "2 processes");
}

TEST(SameWord, DiffersInCapitalsAndHyphensAlone) {
    EXPECT_TRUE(same_word("Prefill-SM90", "prefill_sm90"));
    EXPECT_FALSE(same_word("prefill_sm9", "prefill_sm90"));
    const std::vector<std::string_view> words{"Best", "best", "all"};
    EXPECT_EQ(same_among("best", words), "best") << "the very word first";
    EXPECT_EQ(same_among("ALL", words), "all");
    EXPECT_EQ(same_among("none", words), "");
    EXPECT_EQ(did_you_mean("beast", words), ": did you mean 'Best'?");
    EXPECT_EQ(one_of_these("beast", words), ": did you mean 'Best'? There are Best, best, all");
    EXPECT_EQ(one_of_these("xyz", words), "; there are Best, best, all");
    EXPECT_EQ(one_of_these("xyz", {{words.back()}}), "; there is all");
    EXPECT_EQ(did_you_mean("alt", {{words.back()}}), ": did you mean 'all'?");
    EXPECT_EQ(did_you_mean("bnech", {{std::string_view("bench")}}), ": did you mean 'bench'?")
        << "two letters that changed places";
}

}  // namespace
}  // namespace raceline
