// SPDX-License-Identifier: Apache-2.0
#include "receipt/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "example_rows.hpp"
#include "receipt/past_measurement.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"
#include "support/gzip.hpp"

namespace raceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

// A tree with two receipts: a measured case, and ceilings.
class Manifest : public example::Folder {
protected:
    void SetUp() override {
        write_case();
        write_ceiling();
        CommittedReceipts(root_).update_manifest({});
    }

    static Json row(const std::string& kind, const Json& content) {
        return make_row(RowContext{}, kind, std::string(64, '0'), content);
    }
    void write_case() const {
        ReceiptWriter writer(root_ + "/" + run);
        const Json predicted = writer.append(row("prediction", example::prediction()));
        writer.append(row("measurement", example::measurement(predicted)));
    }
    void write_ceiling() const {
        ReceiptWriter(root_ + "/" + ceilings).append(row("ceiling", example::content("ceiling")));
    }
    [[nodiscard]] std::vector<std::string> disagreements() const {
        return CommittedReceipts(root_).disagreements();
    }
    [[nodiscard]] std::vector<std::string> storage_faults() const {
        return CommittedReceipts(root_).storage_faults();
    }
    void append_text(const std::string& path, const std::string& text) const {
        std::ofstream(root_ + "/" + path, std::ios::app) << text;
    }

    const std::string root_ = path("tree");
    const std::string run = "receipts/cpu/2026-01-01-run-0123456789ab.jsonl";
    const std::string ceilings = "receipts/cpu/ceilings.jsonl";
};

TEST_F(Manifest, names_each_file_with_its_rows_and_hashes) {
    const CommittedReceipts receipts(root_);
    ASSERT_EQ(receipts.manifest().size(), 2U);
    const Json& line = receipts.manifest()[0];
    const ReceiptFile file = read_receipts(root_ + "/" + run);
    EXPECT_EQ(line.at("path"), run);
    EXPECT_EQ(line.at("rows"), 2);
    EXPECT_EQ(line.at("first_hash"), file.rows.front().at("hash"));
    EXPECT_EQ(line.at("last_hash"), file.rows.back().at("hash"));
    EXPECT_EQ(line.at("sha256").get<std::string>().size(), 64U);
    EXPECT_THAT(receipts.disagreements(), IsEmpty());
}

TEST_F(Manifest, a_changed_missing_or_unnamed_file_is_found) {
    write_ceiling();
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("the manifest says")));
    append_text(ceilings, "{}\n");
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("line 3")));
    fs::remove(root_ + "/" + ceilings);
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("not in the tree")));
    fs::rename(root_ + "/" + run, root_ + "/receipts/cpu/other.jsonl");
    fs::rename(root_ + "/receipts/cpu/other.jsonl", root_ + "/" + ceilings);
    EXPECT_THAT(disagreements(),
                ElementsAre(HasSubstr("the manifest says"), HasSubstr("not in the tree")));
}

TEST_F(Manifest, takes_new_files_and_ceilings_that_changed_and_no_edited_run) {
    write_ceiling();
    EXPECT_THAT(CommittedReceipts(root_).update_manifest({}), IsEmpty());
    EXPECT_FALSE(disagreements().empty()) << "a change must be asked for by name";
    EXPECT_THAT(CommittedReceipts(root_).update_manifest({ceilings}), ElementsAre(ceilings));
    EXPECT_THAT(disagreements(), IsEmpty());
    EXPECT_THROW(CommittedReceipts(root_).update_manifest({run}), Error);
}

TEST_F(Manifest, a_file_that_leaves_hands_its_line_to_the_index) {
    const std::vector<PastFile> before = read_past_of_tree(root_ + "/receipts");
    const Json line = CommittedReceipts(root_).manifest()[0];
    CommittedReceipts(root_).retire(run, "c0ffee");
    EXPECT_FALSE(fs::exists(root_ + "/" + run));
    const CommittedReceipts after(root_);
    EXPECT_THAT(after.disagreements(), IsEmpty());
    ASSERT_EQ(after.manifest().size(), 1U);
    ASSERT_EQ(after.index().size(), 1U);
    for (const auto& [name, value] : line.items()) {
        EXPECT_EQ(after.index()[0].at(name), value);
    }
    EXPECT_EQ(after.index()[0].at("commit"), "c0ffee");
    const std::vector<PastFile> now = read_past_of_tree(root_ + "/receipts");
    ASSERT_EQ(now.size(), before.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        EXPECT_EQ(now[i].measurements, before[i].measurements);
    }
    EXPECT_EQ(now[0].measurements.size(), 1U);
}

TEST_F(Manifest, sealed_lines_are_those_of_before_and_still_count) {
    CommittedReceipts(root_).retire(run, "c0ffee");
    const std::vector<Json> lines = CommittedReceipts(root_).index();
    const std::vector<PastFile> before = read_past_of_tree(root_ + "/receipts");
    EXPECT_EQ(CommittedReceipts(root_).seal(), 1U);
    EXPECT_FALSE(fs::exists(root_ + "/receipts/index.jsonl"));
    EXPECT_EQ(stored_text(root_ + "/receipts/index.jsonl.gz"), dump_json(lines[0]) + "\n");
    EXPECT_EQ(CommittedReceipts(root_).index(), lines);
    EXPECT_THAT(disagreements(), IsEmpty());
    EXPECT_EQ(read_past_of_tree(root_ + "/receipts")[0].measurements, before[0].measurements);
    EXPECT_EQ(CommittedReceipts(root_).seal(), 0U);
    // A later one stands behind it, in the file for new lines.
    CommittedReceipts(root_).retire(ceilings, "c0ffee");
    const CommittedReceipts after(root_);
    ASSERT_EQ(after.index().size(), 2U);
    EXPECT_EQ(after.index()[0], lines[0]);
    EXPECT_EQ(after.place_of_line(0).file, std::string("receipts/index.jsonl.gz"));
    EXPECT_EQ(after.place_of_line(1).file, std::string("receipts/index.jsonl"));
    EXPECT_EQ(after.place_of_line(1).line, 1U);
}

TEST_F(Manifest, a_sealed_file_comes_back) {
    const std::string text = read(root_ + "/" + run);
    CommittedReceipts(root_).retire(run, "c0ffee");
    CommittedReceipts(root_).retire(ceilings, "c0ffee");
    CommittedReceipts(root_).seal();
    CommittedReceipts(root_).restore(run, text);
    const CommittedReceipts after(root_);
    EXPECT_THAT(after.disagreements(), IsEmpty());
    ASSERT_EQ(after.index().size(), 1U);
    EXPECT_EQ(after.place_of_line(0).file, std::string("receipts/index.jsonl.gz"));
    EXPECT_FALSE(fs::exists(root_ + "/receipts/index.jsonl"));
}

TEST_F(Manifest, the_index_only_grows) {
    CommittedReceipts(root_).retire(run, "c0ffee");
    const auto text = [&] {
        std::ifstream in(root_ + "/receipts/index.jsonl");
        return std::string{std::istreambuf_iterator<char>(in), {}};
    };
    const std::string before = text();
    CommittedReceipts(root_).retire(ceilings, "c0ffee");
    EXPECT_TRUE(text().starts_with(before));
    EXPECT_GT(text().size(), before.size());
}

TEST_F(Manifest, a_file_that_is_not_as_it_was_may_not_leave) {
    append_text(run, "{}\n");
    EXPECT_THROW(CommittedReceipts(root_).retire(run, "c0ffee"), Error);
    EXPECT_THROW(CommittedReceipts(root_).retire("receipts/cpu/none.jsonl", "c0ffee"), Error);
    EXPECT_TRUE(fs::exists(root_ + "/" + run));
    EXPECT_FALSE(fs::exists(root_ + "/receipts/index.jsonl"));
    // Whole rows, but one more than the manifest says.
    write_ceiling();
    EXPECT_THROW(CommittedReceipts(root_).retire(ceilings, "c0ffee"), Error);
}

// Killed after the line was written: the next call goes on from there.
TEST_F(Manifest, leaving_can_be_finished_later) {
    fs::copy(root_ + "/receipts", root_ + "/kept", fs::copy_options::recursive);
    CommittedReceipts(root_).retire(run, "c0ffee");
    fs::copy(root_ + "/kept", root_ + "/receipts",
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("left the tree by the index")));
    CommittedReceipts(root_).retire(run, "c0ffee");
    EXPECT_THAT(disagreements(), IsEmpty());
    EXPECT_EQ(CommittedReceipts(root_).index().size(), 1U);
}

TEST_F(Manifest, a_broken_line_of_the_index_is_found) {
    append_text("receipts/index.jsonl", R"({"path":"receipts/cpu/old.jsonl","rows":1})"
                                        "\n");
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("its line in the index")));
    append_text("receipts/index.jsonl", "no JSON\n");
    EXPECT_THROW(CommittedReceipts{root_}, Error);
}

TEST_F(Manifest, a_file_that_stands_twice_is_found) {
    append_text("receipts/manifest.jsonl",
                dump_json(CommittedReceipts(root_).manifest().front()) + '\n');
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("in the manifest twice")));
}

// What leaves would be appended to that line, and neither could be read again.
TEST_F(Manifest, an_index_whose_last_line_has_no_end_takes_no_other) {
    CommittedReceipts(root_).retire(run, "c0ffee");
    const std::string index = root_ + "/receipts/index.jsonl";
    fs::resize_file(index, fs::file_size(index) - 1);
    EXPECT_THROW(CommittedReceipts(root_).retire(ceilings, "c0ffee"), Error);
    EXPECT_TRUE(fs::exists(root_ + "/" + ceilings));
}

TEST_F(Manifest, an_edited_line_of_the_index_is_found) {
    CommittedReceipts(root_).retire(run, "c0ffee");
    const std::string path = root_ + "/receipts/index.jsonl";
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string written = "0.0001";
    const std::size_t at = text.rfind(written);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(path) << text.replace(at, written.size(), "0.0002");
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("changed after it was written")));
}

// A new line that calls itself an old one would say less than it must.
TEST_F(Manifest, schemas_of_the_index_never_go_back) {
    CommittedReceipts(root_).retire(run, "c0ffee");
    const Json newest = CommittedReceipts(root_).index().front();
    const auto with_schema = [&](int schema) {
        Json line = newest;
        line["path"] = "receipts/cpu/other.jsonl";
        line["schema"] = schema;
        if (schema == 1) {
            for (Json& row : line["measurements"]) {
                row.erase(row.end() - 5, row.end());
            }
        }
        line["hash"] = row_hash(line);
        return dump_json(line) + '\n';
    };
    append_text("receipts/index.jsonl", with_schema(1));
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("of schema 1, behind one of schema 2")));
    append_text("receipts/index.jsonl", with_schema(99));
    EXPECT_THAT(disagreements(), testing::Contains(HasSubstr("schema 99 is none of the index")));
}

TEST_F(Manifest, compressing_changes_a_name_and_nothing_else) {
    EXPECT_THAT(storage_faults(),
                ElementsAre(run + ": is not as `receipt_index compress` stores it"));
    const std::vector<PastFile> before = read_past_of_tree(root_ + "/receipts");
    const Json line = CommittedReceipts(root_).manifest()[0];
    const std::string text = read(root_ + "/" + run);
    CommittedReceipts(root_).compress(run);
    EXPECT_FALSE(fs::exists(root_ + "/" + run));
    EXPECT_EQ(read(root_ + "/" + run + ".gz"), gzip(text));
    EXPECT_THAT(disagreements(), IsEmpty());
    EXPECT_THAT(storage_faults(), IsEmpty());
    Json named = line;
    named["path"] = run + ".gz";
    EXPECT_EQ(CommittedReceipts(root_).manifest()[0], named);
    const std::vector<PastFile> now = read_past_of_tree(root_ + "/receipts");
    ASSERT_EQ(now.size(), before.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        EXPECT_EQ(now[i].measurements, before[i].measurements);
    }
}

TEST_F(Manifest, only_runs_that_are_as_they_were_are_compressed) {
    EXPECT_THROW(CommittedReceipts(root_).compress(ceilings), Error);
    append_text(run, "{}\n");
    EXPECT_THROW(CommittedReceipts(root_).compress(run), Error);
    EXPECT_TRUE(fs::exists(root_ + "/" + run));
    EXPECT_FALSE(fs::exists(root_ + "/" + run + ".gz"));
    // Whole rows, but other ones than the manifest names.
    fs::copy(root_ + "/" + ceilings, root_ + "/" + run, fs::copy_options::overwrite_existing);
    EXPECT_THROW(CommittedReceipts(root_).compress(run), Error);
}

// The same rows would be other bytes tomorrow, and a diff of commits would show them.
TEST_F(Manifest, a_file_that_was_compressed_otherwise_is_found) {
    CommittedReceipts(root_).compress(run);
    const std::string packed = root_ + "/" + run + ".gz";
    const std::string text = stored_text(packed);
    std::string dated = gzip(text);
    dated[5] = 1;
    write(packed, dated);
    EXPECT_THAT(disagreements(), IsEmpty());
    EXPECT_THAT(storage_faults(), ElementsAre(HasSubstr(run)));
    write(packed, text);
    EXPECT_THAT(storage_faults(), ElementsAre(HasSubstr(run)));
    write(packed, gzip(text));
    EXPECT_THAT(storage_faults(), IsEmpty());
    const std::string plain_ceilings = read(root_ + "/" + ceilings);
    write(root_ + "/" + ceilings, gzip(plain_ceilings));
    EXPECT_THAT(storage_faults(), ElementsAre(HasSubstr("stays plain text")));
}

TEST_F(Manifest, a_file_that_is_there_plain_and_compressed_is_found) {
    CommittedReceipts(root_).compress(run);
    write(root_ + "/" + run, stored_text(root_ + "/" + run + ".gz"));
    EXPECT_THAT(disagreements(), testing::Contains(HasSubstr("is there twice")));
}

TEST_F(Manifest, a_file_comes_back_as_it_left) {
    const std::string text = read(root_ + "/" + run);
    const std::vector<PastFile> before = read_past_of_tree(root_ + "/receipts");
    CommittedReceipts(root_).retire(run, "c0ffee");
    EXPECT_THROW(CommittedReceipts(root_).restore(run, text.substr(0, text.find('\n') + 1)), Error);
    EXPECT_THROW(CommittedReceipts(root_).restore("receipts/cpu/none.jsonl", text), Error);
    EXPECT_THAT(disagreements(), IsEmpty()) << "a refusal changes nothing";
    CommittedReceipts(root_).restore(run, text);
    const CommittedReceipts after(root_);
    EXPECT_THAT(after.disagreements(), IsEmpty());
    EXPECT_THAT(after.index(), IsEmpty());
    EXPECT_EQ(after.manifest().size(), 2U);
    EXPECT_EQ(stored_text(root_ + "/" + run + ".gz"), text);
    EXPECT_EQ(read_past_of_tree(root_ + "/receipts")[0].measurements, before[0].measurements);
}

// Stopped after the manifest was written: the next call goes on from there.
TEST_F(Manifest, coming_back_can_be_finished_later) {
    const std::string text = read(root_ + "/" + run);
    CommittedReceipts(root_).retire(run, "c0ffee");
    const std::string index = read(root_ + "/receipts/index.jsonl");
    CommittedReceipts(root_).restore(run, text);
    write(root_ + "/receipts/index.jsonl", index);
    EXPECT_THAT(disagreements(), ElementsAre(HasSubstr("left the tree by the index")));
    CommittedReceipts(root_).restore(run, text);
    EXPECT_THAT(disagreements(), IsEmpty());
    EXPECT_EQ(CommittedReceipts(root_).manifest().size(), 2U);
}

TEST(CommittedReceipts, agree_with_manifest_and_index) {
    const CommittedReceipts receipts(RACELINE_SOURCE_DIR);
    EXPECT_THAT(receipts.storage_faults(), IsEmpty());
    EXPECT_THAT(receipts.disagreements(), IsEmpty())
        << "new files: build/receipt_index manifest (docs/receipts.md)";
    EXPECT_GE(receipts.manifest().size(), 2U);
}

// Whoever clones the tree or carries it to a GPU carries these. Too much: `receipt_index retire`.
TEST(CommittedReceipts, stay_under_six_and_a_half_megabytes_with_logs_and_index) {
    std::uintmax_t bytes = 0;
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(RACELINE_SOURCE_DIR) / "receipts")) {
        bytes += entry.is_regular_file() ? entry.file_size() : 0;
    }
    EXPECT_LT(bytes, 6'500'000U);
}

// What left is in git's history: each line names a commit and what the file was.
TEST(CommittedReceipts, each_that_left_can_be_found_again) {
    const CommittedReceipts receipts(RACELINE_SOURCE_DIR);
    for (const Json& line : receipts.index()) {
        EXPECT_EQ(line.at("commit").get<std::string>().size(), 40U) << line.at("path");
        EXPECT_EQ(line.at("sha256").get<std::string>().size(), 64U) << line.at("path");
        EXPECT_GE(line.at("rows").get<std::size_t>(), 1U) << line.at("path");
    }
}

}  // namespace
}  // namespace raceline
