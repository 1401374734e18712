// SPDX-License-Identifier: Apache-2.0
// `report --docs`: pages are rewritten, and with --check compared.
#include <filesystem>
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
