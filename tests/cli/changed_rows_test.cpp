// SPDX-License-Identifier: Apache-2.0
// Rows that were edited after they were written: every command that reads receipts names them and
// counts them for nothing.
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"
#include "plot/gnuplot.hpp"
#include "receipt/stored_text.hpp"

namespace raceline::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string source = RACELINE_SOURCE_DIR;
const std::string training =
    source + "/receipts/h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz";

struct Edited {
    std::string text;
    std::size_t line = 0;
    std::string id;  ///< of the row
};

// A file whose n-th measured time was made ten times as short.
Edited edited(const std::string& path, int n) {
    Edited file{.text = stored_text(path), .line = 0, .id = {}};
    const std::string member = "\"seconds_median\":";
    std::size_t at = 0;
    for (int i = 0; i < n; ++i) {
        at = file.text.find(member, at) + member.size();
    }
    const std::size_t end = file.text.find_first_of(",}", at);
    const double seconds = std::stod(file.text.substr(at, end - at));
    file.text.replace(at, end - at, std::to_string(seconds / 10));
    const std::size_t begin = file.text.rfind('\n', at) + 1;
    file.line = 1 + static_cast<std::size_t>(std::count(
                        file.text.begin(), file.text.begin() + static_cast<long>(begin), '\n'));
    const std::string key = "\"id\":\"";
    const std::size_t id = file.text.find(key, begin) + key.size();
    file.id = file.text.substr(id, file.text.find('"', id) - id);
    return file;
}

std::ptrdiff_t cases_in(const Outcome& table) {
    const std::vector<std::string> lines = table.lines();
    return std::ranges::count_if(lines,
                                 [](const std::string& line) { return line.ends_with(" pass"); });
}

class ChangedRows : public testing::Test {
protected:
    ChangedRows() : file_(edited(training, 3)) {
        box_.write("edited.jsonl", file_.text);
        line_ = "line " + std::to_string(file_.line);
    }
    Sandbox box_;
    Edited file_;
    std::string line_;
};

TEST_F(ChangedRows, are_named_by_report_and_stand_in_no_table) {
    const Outcome run = box_.run("report --wide edited.jsonl");
    EXPECT_EQ(run.exit, 1);
    EXPECT_THAT(run.err, HasSubstr("edited.jsonl: " + line_ + ": hash does not match"));
    EXPECT_EQ(cases_in(run) + 1, cases_in(box_.run("report --wide " + training))) << run.out;
    const Outcome rows = box_.run("report --json edited.jsonl");
    EXPECT_EQ(rows.exit, 1);
    EXPECT_THAT(rows.out, Not(HasSubstr("\"id\":\"" + file_.id)));
    // The same as --check says of it.
    EXPECT_EQ(box_.run("report --check edited.jsonl").exit, 1);
    EXPECT_EQ(box_.run("report " + training).exit, 0);
}

TEST_F(ChangedRows, are_named_by_diff_and_are_no_case_of_it) {
    const Outcome run = box_.run("diff " + training + " edited.jsonl");
    EXPECT_EQ(run.exit, 0);
    EXPECT_THAT(run.err, HasSubstr("after: edited.jsonl: 1 row left out that is not as it was "
                                   "written, in " +
                                   line_ + ": hash does not match"));
    EXPECT_THAT(run.out, HasSubstr("0 faster, 0 slower, 35 the same"));
    EXPECT_THAT(run.out, HasSubstr("1 before, 0 after"));
}

TEST_F(ChangedRows, are_named_by_plot_and_are_not_drawn) {
    if (!gnuplot_is_there()) {
        GTEST_SKIP() << "no gnuplot in PATH";
    }
    for (const char* picture : {"roofline", "sweep", "ladder", "trajectory", "compare"}) {
        const Outcome run =
            box_.run(std::string("plot ") + picture + " edited.jsonl -o out.svg --keep-script");
        // The file has neither a rung nor a peer.
        const bool lacking = picture[0] == 'l' || picture[0] == 't' || picture[0] == 'c';
        EXPECT_EQ(run.exit, lacking ? 2 : 0) << picture;
        EXPECT_THAT(run.err, HasSubstr("1 row left out that is not as it was written, in " + line_))
            << picture;
        EXPECT_THAT(Sandbox::read(box_.path("out.svg")), HasSubstr("not as it was written"));
    }
    const Outcome card = box_.run("plot scorecard edited.jsonl -o out.svg");
    EXPECT_THAT(card.err, HasSubstr(line_ + ": hash does not match"));
}

TEST_F(ChangedRows, of_a_commit_are_named_too) {
    const std::string commit = "4b2ec0278ce6";
    std::filesystem::create_directories(box_.path("receipts/h200"));
    box_.write("receipts/h200/edited.jsonl", file_.text);
    box_.write("receipts/h200/whole.jsonl", stored_text(training));
    const Outcome run = box_.run("diff " + commit + " " + commit);
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("receipts/h200/edited.jsonl: 1 row left out"));
    EXPECT_THAT(run.err, Not(HasSubstr("whole.jsonl")));
    EXPECT_EQ(box_.run("diff 0123456 " + commit).exit, 2);
}

TEST_F(ChangedRows, one_that_was_taken_out_is_missed_by_the_next) {
    std::string text = stored_text(training);
    const std::size_t second = text.find('\n') + 1;
    text.erase(second, text.find('\n', second) + 1 - second);
    box_.write("short.jsonl", text);
    const Outcome run = box_.run("report short.jsonl");
    EXPECT_EQ(run.exit, 1);
    EXPECT_THAT(run.err, HasSubstr("line 2: prev is not the hash of the row before"));
}

}  // namespace
}  // namespace raceline::test
