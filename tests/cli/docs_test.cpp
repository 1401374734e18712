// SPDX-License-Identifier: Apache-2.0
// `report --docs`: pages are rewritten, and with --check compared.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.hpp"

namespace raceline::test {
namespace {

using testing::HasSubstr;

constexpr const char* constants = "constants kernels=prefill_mma suite=training-16k device=h200";

TEST(Docs, pages_are_written_and_an_edited_figure_fails_the_check) {
    const Sandbox box;
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    box.write("page.md", std::string("A page.\n<!-- raceline:begin ") + constants +
                             " --><!-- raceline:end -->\nIts end.\n");
    EXPECT_EQ(box.run("report --docs --check page.md").exit, 1);
    EXPECT_EQ(box.run("report --docs page.md").exit, 0);
    std::string page = Sandbox::read(box.path("page.md"));
    EXPECT_THAT(page, HasSubstr("| prefill_mma.slots_of_instruction | 1.8 | 1 |\n"));
    EXPECT_THAT(page, HasSubstr("<!-- raceline:end -->\nIts end.\n"));
    EXPECT_EQ(box.run("report --docs --check page.md").exit, 0);

    page.replace(page.find("| 1.8 |"), 7, "| 1.7 |");
    box.write("page.md", page);
    const Outcome edited = box.run("report --docs --check page.md");
    EXPECT_EQ(edited.exit, 1);
    EXPECT_THAT(edited.err, HasSubstr(std::string("page.md: line 2: block '") + constants +
                                      "' is not what its receipts say"));
}

TEST(Docs, what_cannot_be_written_is_named) {
    const Sandbox box;
    EXPECT_EQ(box.run("report --docs").exit, 2);
    box.write("page.md", "<!-- raceline:begin rates from=one --><!-- raceline:end -->");
    const Outcome nowhere = box.run("report --docs page.md");
    EXPECT_EQ(nowhere.exit, 2);
    EXPECT_THAT(nowhere.err, HasSubstr("docs/evidence.json"));
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    const Outcome unknown = box.run("report --docs page.md");
    EXPECT_EQ(unknown.exit, 2);
    EXPECT_THAT(
        unknown.err,
        HasSubstr("page.md: line 1: block 'rates from=one': 'one' is not in docs/evidence"));
    EXPECT_EQ(Sandbox::read(box.path("page.md")),
              "<!-- raceline:begin rates from=one --><!-- raceline:end -->");
}

std::string output_marker(const std::string& command) {
    return "<!-- raceline:begin output " + command + " --><!-- raceline:end -->\n";
}

TEST(DocsOutput, a_command_and_what_it_prints_are_written_the_same_everywhere) {
    const Sandbox box;
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    const std::string command = "raceline predict --device h200 --op relu,n=8x8 --op relu,n=9x9";
    box.write("page.md", output_marker(command) +
                             output_marker("raceline devices --device h200 | grep latency.l2"));
    ASSERT_EQ(box.run("report --docs page.md", "COLUMNS=40").exit, 0);
    const std::string page = Sandbox::read(box.path("page.md"));
    EXPECT_THAT(page, HasSubstr("-->\n```sh\n" + command + "\n```\n\n```text\nshape "));
    EXPECT_THAT(page, HasSubstr("in all rows: "));
    EXPECT_THAT(page, HasSubstr("```text\nlatency.l2 "));
    EXPECT_THAT(page, testing::Not(HasSubstr("latency.dram")));
    // Ceilings that somebody measured here, and his terminal, change nothing.
    EXPECT_EQ(box.run("report --docs --check page.md", "NO_COLOR=1 COLUMNS=200").exit, 0);

    std::string edited = page;
    edited.replace(edited.find("relu,n=9x9,"), 11, "relu,n=9x8,");
    box.write("page.md", edited);
    const Outcome check = box.run("report --docs --check page.md");
    EXPECT_EQ(check.exit, 1);
    EXPECT_THAT(check.err, HasSubstr("page.md: line 1: block 'output " + command + "' is not"));
}

TEST(DocsOutput, a_long_command_stands_in_lines_that_a_shell_joins) {
    const Sandbox box;
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    box.write("page.md", output_marker("raceline predict --device h200 --op relu,n=16384x8192 "
                                       "--op relu,n=16384x8193,dtype=fp32 --warm | grep fp32"));
    ASSERT_EQ(box.run("report --docs page.md").exit, 0);
    EXPECT_THAT(Sandbox::read(box.path("page.md")),
                HasSubstr("```sh\nraceline predict --device h200 --op relu,n=16384x8192 \\\n"
                          "    --op relu,n=16384x8193,dtype=fp32 --warm | grep fp32\n```\n"));
}

TEST(DocsOutput, commands_that_write_or_depend_on_the_machine_are_refused) {
    const Sandbox box;
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    const auto refused = [&](const std::string& command) {
        box.write("page.md", output_marker(command));
        const Outcome run = box.run("report --docs page.md");
        EXPECT_EQ(run.exit, 2) << command << ": " << Sandbox::read(box.path("page.md"));
        return run.err;
    };
    const std::string h200 = " --device h200";
    EXPECT_THAT(refused("touch touched"), HasSubstr("which write nothing"));
    EXPECT_THAT(refused("raceline measure" + h200), HasSubstr("which write nothing"));
    EXPECT_THAT(refused("raceline"), HasSubstr("which write nothing"));
    EXPECT_THAT(refused("raceline devices"), HasSubstr("must name a device"));
    EXPECT_THAT(refused("raceline devices --device cpu"), HasSubstr("is no NVIDIA GPU"));
    EXPECT_THAT(refused("raceline predict --receipts=a.jsonl" + h200), HasSubstr("--receipts"));
    EXPECT_THAT(refused("raceline devices" + h200 + " | sort"), HasSubstr("`| grep WORD`"));
    EXPECT_THAT(refused("raceline devices" + h200 + " | grep nothing"),
                HasSubstr("prints nothing"));
    EXPECT_THAT(refused("raceline predict --op nothing" + h200), HasSubstr("fails: try it"));
    EXPECT_FALSE(std::filesystem::exists(box.path("touched")));
    EXPECT_FALSE(std::filesystem::exists(box.path("a.jsonl")));
}

// To mend them: make docs
TEST(DocsOutput, lessons_have_three_questions_each_answered_by_a_command) {
    namespace fs = std::filesystem;
    const Sandbox box;
    const fs::path root(RACELINE_SOURCE_DIR);
    std::string pages;
    int lessons = 0;
    for (const auto& entry : fs::directory_iterator(root / "docs/learn")) {
        pages += " " + entry.path().string();
        const std::string page = Sandbox::read(entry.path().string());
        const std::size_t from = page.find("## Three questions\n");
        if (from == std::string::npos) {
            EXPECT_EQ(entry.path().filename(), "index.md");
            continue;
        }
        ++lessons;
        const std::string part = page.substr(from, page.find("\n## ", from + 1) - from);
        const auto count = [&](const std::string& what) {
            int found = 0;
            for (std::size_t at = part.find(what); at != std::string::npos;
                 at = part.find(what, at + 1)) {
                ++found;
            }
            return found;
        };
        EXPECT_EQ(count("\n### "), 3) << entry.path();
        EXPECT_EQ(count("<details"), 3) << entry.path();
        // Each question has its own: none before the first, one or more between two.
        std::size_t question = part.find("\n### ");
        EXPECT_GT(part.find("raceline:begin output"), question) << entry.path();
        for (; question != std::string::npos; question = part.find("\n### ", question + 1)) {
            const std::size_t next = part.find("\n### ", question + 1);
            EXPECT_LT(part.find("<!-- raceline:begin output raceline ", question),
                      std::min(next, part.size()))
                << entry.path() << part.substr(question, 80);
        }
    }
    EXPECT_EQ(lessons, 8);
    fs::create_directory(box.path("docs"));
    fs::copy_file(root / "docs/evidence.json", box.path("docs/evidence.json"));
    const Outcome check = box.run("report --docs --check" + pages);
    EXPECT_EQ(check.exit, 0) << check.err;
}

TEST(Docs, a_full_disk_costs_no_page) {
    const Sandbox box;
    std::filesystem::create_directory(box.path("docs"));
    box.write("docs/evidence.json", "{}");
    const std::string page =
        std::string("<!-- raceline:begin ") + constants + " --><!-- raceline:end -->\n";
    box.write("page.md", page);
    // No file may grow: neither the page nor what is said of it.
    const Outcome full = box.run("report --docs page.md",
                                 "bash -c 'trap \"\" XFSZ; ulimit -f 0; exec \"$0\" \"$@\"'");
    EXPECT_EQ(full.exit, 2);
    EXPECT_EQ(Sandbox::read(box.path("page.md")), page);
    for (const auto& entry : std::filesystem::directory_iterator(box.path("."))) {
        const std::string name = entry.path().filename().string();
        EXPECT_FALSE(name.starts_with("page.md.")) << name;
    }
}

}  // namespace
}  // namespace raceline::test
