// SPDX-License-Identifier: Apache-2.0
// `report` as a user meets it: checks, scorecard, corrupt files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "receipt/row.hpp"
#include "receipt/stored_text.hpp"

namespace raceline::test {
namespace {

using testing::HasSubstr;

class ReportCommand : public testing::Test {
protected:
    Sandbox box;
};

TEST_F(ReportCommand, a_corrupt_line_is_named_and_the_rest_is_still_read) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    const std::string rows = Sandbox::read(box.path("r.jsonl"));
    box.write("bad.jsonl", rows.substr(0, rows.find('\n') + 1) + "{\"schema\": 1, nonsense\n" +
                               rows.substr(rows.find('\n') + 1));
    const Outcome report = box.run("report bad.jsonl");
    EXPECT_EQ(report.exit, 2);
    EXPECT_THAT(report.err, HasSubstr("line 2"));
    EXPECT_THAT(report.out, HasSubstr("cpu_flash"));
}

// One sentence, and not one a line.
TEST_F(ReportCommand, a_file_without_any_row_is_refused_as_a_whole) {
    const std::string folder = std::string(RACELINE_SOURCE_DIR) + "/receipts/";
    const Outcome manifest = box.run("report " + folder + "manifest.jsonl");
    EXPECT_EQ(manifest.exit, 2);
    EXPECT_THAT(manifest.err, HasSubstr("lines is a row: it is no receipt file"));
    EXPECT_EQ(std::ranges::count(manifest.err, '\n'), 1) << manifest.err;
    const Outcome index = box.run("report " + folder + "index.jsonl.gz");
    EXPECT_EQ(index.exit, 2);
    EXPECT_THAT(index.err, HasSubstr("which goes with --scorecard and --ladder"));
    EXPECT_EQ(std::ranges::count(index.err, '\n'), 1) << index.err;
}

TEST_F(ReportCommand, report_check_refuses_a_cut_copy_of_a_committed_file_wherever_it_lies) {
    const std::string name = "2026-11-22-e4m3-product-3d1ff90bf28f.jsonl.gz";
    std::string text = stored_text(std::string(RACELINE_SOURCE_DIR) + "/receipts/h200/" + name);
    box.write("whole.jsonl", text);
    const Outcome whole = box.run("report --check whole.jsonl");
    EXPECT_EQ(whole.exit, 0) << whole.err;
    EXPECT_THAT(whole.err, HasSubstr("history not checked: neither the file nor the working"));
    EXPECT_EQ(std::ranges::count(whole.err, '\n'), 2) << "that, and the count: " << whole.err;
    text.erase(text.rfind('\n', text.size() - 2) + 1);
    box.write("cut.jsonl", text);
    const Outcome cut = box.run("report --check cut.jsonl");
    EXPECT_EQ(cut.exit, 1);
    EXPECT_THAT(cut.err, HasSubstr("cut.jsonl: line 2: the file begins as receipts/h200/" + name));
}

TEST_F(ReportCommand, the_scorecard_speaks_to_terminals_pages_and_tools) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl --kernel cpu_flash ") + tiny).exit, 0);
    const Outcome table = box.run("report --scorecard r.jsonl");
    EXPECT_EQ(table.exit, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("first sight"));
    const Outcome page = box.run("report --scorecard --markdown r.jsonl");
    EXPECT_EQ(page.exit, 0) << page.err;
    EXPECT_THAT(page.out, HasSubstr("\n### By regime and class\n"));
    const Outcome json = box.run("report --scorecard --json r.jsonl");
    EXPECT_EQ(json.exit, 0) << json.err;
    const Json card = Json::parse(json.out);
    // What a build of a tree with uncommitted changes measured counts for nothing, which is said
    // too.
    const Json& left_out = card.at("left_out");
    EXPECT_EQ(card.at("groups").size() + left_out.at("unsettled").get<std::size_t>() +
                  left_out.at("dirty").get<std::size_t>(),
              1U);
    const Json committed =
        Json::parse(box.run("report --scorecard --json " RACELINE_SOURCE_DIR
                            "/receipts/cpu/2026-11-21-quickstart-d1ca717f26ff.jsonl.gz")
                        .out);
    EXPECT_GT(committed.at("groups").size(), 0U);
    EXPECT_EQ(committed.at("left_out").at("dirty"), 0);
}

TEST_F(ReportCommand, report_check_refuses_an_edited_prediction) {
    ASSERT_EQ(box.run(std::string("bench --receipts r.jsonl ") + tiny).exit, 0);
    EXPECT_EQ(box.run("report --check r.jsonl").exit, 0);
    std::string rows = Sandbox::read(box.path("r.jsonl"));
    const std::size_t at = rows.find("\"limiter\":\"");
    ASSERT_NE(at, std::string::npos);
    rows.insert(at + 11, "x");
    box.write("edited.jsonl", rows);
    const Outcome check = box.run("report --check edited.jsonl");
    EXPECT_EQ(check.exit, 1) << check.err;
    EXPECT_THAT(check.err, HasSubstr("line 2")) << "line 1 is the device";
}

}  // namespace
}  // namespace raceline::test
