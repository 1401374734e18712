// SPDX-License-Identifier: Apache-2.0
// The index of what left this tree, and what is compiled in of it, against the history of this
// tree.
#include "receipt/left_files.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "receipt/committed_evidence.hpp"
#include "receipt/git_history.hpp"
#include "receipt/manifest.hpp"
#include "receipt/past_measurement.hpp"
#include "support/build_info.hpp"
#include "support/subprocess.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

TEST(CompiledIn, are_manifest_and_index_of_this_tree) {
    const CommittedReceipts receipts(RACELINE_SOURCE_DIR);
    const auto known = build_info::committed_receipts();
    EXPECT_EQ(known.size(), 1 + receipts.manifest().size() + receipts.index().size());
    for (const Json& line : receipts.index()) {
        EXPECT_TRUE(std::ranges::any_of(known, [&](const auto& one) {
            return one.last_hash == line.at("last_hash").template get<std::string>() &&
                   one.first_hash == line.at("first_hash").template get<std::string>() &&
                   one.rows == line.at("rows").template get<std::size_t>();
        })) << line.at("path");
    }
}

using DirtyFiles = example::Folder;

// What each line of the index says is what its file in git's history says.
TEST(CommittedIndex, says_what_the_files_said_that_left) {
    const GitHistory history(RACELINE_SOURCE_DIR);
    if (!history.missing().empty()) {
        GTEST_SKIP() << history.missing();
    }
    const CommittedReceipts receipts(RACELINE_SOURCE_DIR);
    for (const WrongLine& wrong : lines_unlike_their_files(receipts.index(), history)) {
        ADD_FAILURE() << wrong.what;
    }
}

// Old evidence of a changed tree is listed, and no other is in the index.
TEST_F(DirtyFiles, are_all_that_left_with_rows_of_a_changed_tree) {
    const GitHistory history(RACELINE_SOURCE_DIR);
    if (!history.missing().empty()) {
        GTEST_SKIP() << history.missing();
    }
    std::set<std::string> dirty;
    const CommittedReceipts receipts(RACELINE_SOURCE_DIR);
    for (const Json& line : receipts.index()) {
        const auto name = line.at("path").get<std::string>();
        const auto text = output_of({"git", "-C", RACELINE_SOURCE_DIR, "cat-file", "blob",
                                     line.at("commit").get<std::string>() + ":" + name});
        ASSERT_TRUE(text.has_value()) << name;
        if (text->find("\"dirty\":true") != std::string::npos) {
            dirty.insert(name);
        }
    }
    const auto listed = dirty_files();
    EXPECT_EQ(dirty, std::set<std::string>(listed.begin(), listed.end()));
    const std::string page = read(std::string(RACELINE_SOURCE_DIR) + "/docs/receipts.md");
    for (const std::string& name : dirty) {
        EXPECT_NE(page.find(fs::path(name).stem().string()), std::string::npos)
            << "docs/receipts.md does not list " << name;
    }
}

TEST_F(DirtyFiles, make_their_cases_seen_and_count_for_nothing_else) {
    std::size_t found = 0;
    for (const PastFile& file : read_past_of_tree(RACELINE_SOURCE_DIR "/receipts")) {
        const bool listed = std::ranges::find(dirty_files(), file.path) != dirty_files().end();
        for (const PastMeasurement& m : file.measurements) {
            EXPECT_EQ(m.counts, !listed) << file.path;
            found += listed ? 1 : 0;
        }
    }
    EXPECT_GE(found, 20U);
}

}  // namespace
}  // namespace raceline
