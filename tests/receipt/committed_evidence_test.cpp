// SPDX-License-Identifier: Apache-2.0
// A tree with receipts and a history of its own; files and history are changed as a forger would.
#include "receipt/committed_evidence.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "receipt/git_history.hpp"
#include "receipt/left_files.hpp"
#include "receipt/manifest.hpp"
#include "receipt/stored_text.hpp"
#include "support/gzip.hpp"
#include "support/subprocess.hpp"
#include "tests/receipt/example_rows.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

namespace fs = std::filesystem;

class Evidence : public example::Folder {
protected:
    void SetUp() override {
        fs::create_directories(root_ + "/receipts/cpu");
        git("init -q");
        write(root_ + "/program", "1");
        commit_all("2026-01-02T03:04:05Z");
        commit_ = *output_of({"git", "-C", root_, "rev-parse", "HEAD"});
        commit_.pop_back();
        for (const char* name : {first, second, ceilings}) {
            write_run(root_ + "/" + name);
        }
        CommittedReceipts(root_).update_manifest({});
        commit_all("2026-01-03T00:00:00Z");
    }

    void git(const std::string& words, const std::string& date = "2026-01-02T00:00:00Z") const {
        const std::string command = "cd " + root_ + " && GIT_COMMITTER_DATE=" + date +
                                    " GIT_AUTHOR_DATE=" + date +
                                    " git -c user.name=a -c user.email=b -c commit.gpgsign=false " +
                                    words + " >/dev/null 2>&1";
        ASSERT_EQ(std::system(command.c_str()), 0) << words;
    }
    void commit_all(const std::string& date) const {
        git("add -A");
        git("commit -q --allow-empty -m more", date);
    }
    /// Two rows as a program built from this tree's commit writes them.
    void write_run(const std::string& name, bool dirty = false,
                   const std::string& source = {}) const {
        RowContext context = example::context();
        context.git_commit = commit_;
        context.git_dirty = dirty;
        ReceiptWriter writer(name);
        const Json predicted =
            writer.append(make_row(context, "prediction", source, example::prediction()));
        writer.append(make_row(context, "measurement", source, example::measurement(predicted)));
    }

    /// As `report --check` says it of a file in the tree or elsewhere.
    [[nodiscard]] std::string said(const std::string& file, const std::string& root,
                                   bool notes = false) const {
        const CommittedEvidence evidence(root, {});
        const auto answer = evidence.check(file, read_receipts(file));
        std::string text;
        for (const BadLine& bad : answer.refused) {
            text += fmt::format("{}: {}\n", bad.line, bad.reason);
        }
        for (std::size_t i = 0; notes && i < answer.notes.size(); ++i) {
            text += answer.notes[i] + "\n";
        }
        return text;
    }
    /// Changes rows of a committed file and chains them again.
    [[nodiscard]] std::string edited(const std::string& name,
                                     const std::function<void(std::vector<Json>&)>& change,
                                     const std::string& to) const {
        ReceiptFile file = read_receipts(root_ + "/" + name);
        change(file.rows);
        example::chain_again(file);
        std::string text;
        for (const Json& row : file.rows) {
            text += dump_json(row) + '\n';
        }
        write(to, text);
        return to;
    }
    [[nodiscard]] std::vector<std::string> lost() const {
        std::vector<std::string> all;
        for (const auto& line : CommittedEvidence(root_, {}).lost_lines()) {
            all.push_back(fmt::format("{}:{}: {}", line.file, line.line, line.what));
        }
        return all;
    }
    /// Lines of the index that are not as their files were.
    [[nodiscard]] std::vector<std::string> wrong() const {
        std::vector<std::string> all;
        for (const auto& line : CommittedEvidence(root_, {}).wrong_lines()) {
            all.push_back(fmt::format("{}:{}: {}", line.file, line.line, line.what));
        }
        return all;
    }
    [[nodiscard]] std::string commit_of_files() const {
        std::string commit = *output_of({"git", "-C", root_, "rev-parse", "HEAD"});
        commit.pop_back();
        return commit;
    }
    /// Replaces text in a file of the tree; "" takes the whole line away that has `what`.
    void replace_in(const std::string& name, const std::string& what,
                    const std::string& with) const {
        std::string text = read(root_ + "/" + name);
        const std::size_t at = text.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        if (with.empty()) {
            const std::size_t begin = text.rfind('\n', at) + 1;
            text.erase(begin, text.find('\n', at) + 1 - begin);
        } else {
            text.replace(at, what.size(), with);
        }
        write(root_ + "/" + name, text);
    }

    const std::string root_ = path("tree");
    std::string commit_;
    static constexpr const char* first = "receipts/cpu/2026-01-01-one-0123456789ab.jsonl";
    static constexpr const char* second = "receipts/cpu/2026-01-01-two-0123456789ab.jsonl";
    static constexpr const char* ceilings = "receipts/cpu/ceilings.jsonl";
    static constexpr const char* manifest = "receipts/manifest.jsonl";
    static constexpr const char* index = "receipts/index.jsonl";
};

TEST_F(Evidence, of_a_tree_as_it_was_committed_holds) {
    for (const char* name : {first, second, ceilings}) {
        EXPECT_EQ(said(root_ + "/" + name, root_, true), "");
    }
    EXPECT_THAT(lost(), IsEmpty());
    EXPECT_EQ(CommittedEvidence(root_, {}).history_note(), "");
}

TEST_F(Evidence, a_deleted_last_pair_is_refused_wherever_the_copy_lies) {
    const auto without_last = [](std::vector<Json>& rows) { rows.pop_back(); };
    for (const std::string& copy : {path("copy.jsonl"), root_ + "/" + first}) {
        EXPECT_THAT(said(edited(first, without_last, copy), root_),
                    AllOf(StartsWith("1: the file begins as receipts/cpu/2026-01-01-one"),
                          HasSubstr("committed with 2 rows"), HasSubstr("it has 1 row up to")));
    }
}

TEST_F(Evidence, a_file_that_was_emptied_is_refused_in_the_tree) {
    EXPECT_THAT(said(edited(
                         first, [](std::vector<Json>& rows) { rows.clear(); }, root_ + "/" + first),
                     root_),
                StartsWith("1: the manifest names this file with 2 rows; here it has none"));
}

TEST_F(Evidence, a_row_that_was_changed_or_added_after_the_commit_is_refused) {
    EXPECT_THAT(
        said(edited(
                 first, [](std::vector<Json>& rows) { rows[1]["tile"]["m"] = 1; }, path("a.jsonl")),
             root_),
        StartsWith("2: the file begins as"));
    EXPECT_THAT(
        said(edited(
                 first, [](std::vector<Json>& rows) { rows.push_back(rows[0]); }, path("b.jsonl")),
             root_),
        StartsWith("3: the file begins as"));
}

TEST_F(Evidence, a_first_row_that_was_changed_is_refused_in_the_tree) {
    const auto change = [](std::vector<Json>& rows) { rows[0]["tile"]["m"] = 1; };
    EXPECT_THAT(said(edited(first, change, root_ + "/" + first), root_),
                StartsWith("1: the manifest names this file with the first hash"));
}

TEST_F(Evidence, a_file_that_left_the_tree_is_known_by_the_index) {
    fs::copy(root_ + "/" + first, path("whole.jsonl"));
    const std::string cut =
        edited(first, [](std::vector<Json>& rows) { rows.pop_back(); }, path("cut.jsonl"));
    CommittedReceipts(root_).retire(first, commit_);
    EXPECT_EQ(said(path("whole.jsonl"), root_, true), "");
    EXPECT_THAT(said(cut, root_), StartsWith("1: the file begins as receipts/cpu/2026-01-01-one"));
}

TEST_F(Evidence, what_was_compiled_in_is_known_without_a_tree) {
    const ReceiptFile file = read_receipts(root_ + "/" + first);
    const auto ends = [&](std::size_t row) {
        return file.rows.at(row).at("hash").get_ref<const std::string&>();
    };
    const std::string begin = ends(0);
    const std::string end = ends(1);
    const std::vector<build_info::EmbeddedReceipt> known{{first, begin, end, 2}};
    const std::string cut =
        edited(first, [](std::vector<Json>& rows) { rows.pop_back(); }, path("cut.jsonl"));
    const CommittedEvidence evidence("", known);
    EXPECT_THAT(evidence.check(root_ + "/" + first, file).refused, IsEmpty());
    EXPECT_EQ(evidence.check(cut, read_receipts(cut)).refused.size(), 1U);
    EXPECT_THAT(evidence.history_note(), StartsWith("history not checked: neither"));
}

TEST_F(Evidence, a_row_older_than_its_commit_is_refused_in_any_file) {
    const auto earlier = [](std::vector<Json>& rows) {
        rows[0]["written"] = "2026-01-02T03:04:04.999999Z";
    };
    EXPECT_THAT(said(edited(first, earlier, path("r.jsonl")), root_),
                HasSubstr("1: written 2026-01-02T03:04:04.999999Z, before its commit " + commit_ +
                          " was made (2026-01-02T03:04:05.000000Z)"));
}

TEST_F(Evidence, dirty_rows_are_refused_where_they_are_committed_and_said_elsewhere) {
    const std::string name = "receipts/cpu/2026-01-01-dirty-0123456789ab.jsonl";
    write_run(path("dirty.jsonl"), true);
    fs::copy(path("dirty.jsonl"), root_ + "/" + name);
    EXPECT_EQ(said(path("dirty.jsonl"), root_, true),
              path("dirty.jsonl") +
                  ": 2 rows of a tree with uncommitted changes (git.dirty): not to be committed as "
                  "evidence\n");
    EXPECT_THAT(said(root_ + "/" + name, root_, true), HasSubstr("no committed evidence yet"));
    EXPECT_EQ(said(root_ + "/" + name, root_), "");
    CommittedReceipts(root_).update_manifest({});
    EXPECT_THAT(said(root_ + "/" + name, root_),
                StartsWith("1: 2 rows of a tree with uncommitted changes (git.dirty) from this"));
}

TEST_F(Evidence, a_commit_that_the_history_lacks_is_refused_where_it_is_committed) {
    const std::string name = "receipts/cpu/2026-01-01-gone-0123456789ab.jsonl";
    commit_ = std::string(40, 'c');
    write_run(path("gone.jsonl"));
    EXPECT_THAT(said(path("gone.jsonl"), root_, true),
                HasSubstr("2 rows of the commit " + commit_ + ", whose date is not known here"));
    EXPECT_EQ(said(path("gone.jsonl"), root_), "");
    fs::copy(path("gone.jsonl"), root_ + "/" + name);
    CommittedReceipts(root_).update_manifest({});
    EXPECT_THAT(said(root_ + "/" + name, root_),
                StartsWith("1: 2 rows from this one on of the commit " + commit_ +
                           ", which no branch or tag"));
    // A shallow clone cannot tell: a sentence.
    commit_all("2026-01-04T00:00:00Z");
    git("clone -q --depth 1 file://" + root_ + " " + path("shallow"));
    EXPECT_EQ(said(path("shallow/" + name), path("shallow")), "");
    EXPECT_THAT(said(path("shallow/" + name), path("shallow"), true),
                HasSubstr("history not checked: the clone is shallow"));
}

// A squashed branch takes its commits with it; the device code that ran is still at hand.
TEST_F(Evidence, a_commit_that_the_history_lacks_stands_if_the_tree_knows_its_machine_code) {
    const std::string name = "receipts/cpu/2026-01-01-gone-0123456789ab.jsonl";
    commit_ = std::string(40, 'c');
    write_run(root_ + "/" + name, false, "source");
    const Json row = read_receipts(root_ + "/" + name).rows.back();
    const auto remember = [&](const std::string& kernel, const std::string& source) {
        fs::create_directories(root_ + "/docs");
        std::ofstream(root_ + "/docs/machine_code.json")
            << Json({{kernel, {{source, "machine code"}}}}).dump();
    };
    const auto kernel = row.at("kernel").get<std::string>();
    CommittedReceipts(root_).update_manifest({});
    remember(kernel, "source");
    EXPECT_EQ(said(root_ + "/" + name, root_), "");
    EXPECT_THAT(said(root_ + "/" + name, root_, true),
                HasSubstr("of the commit " + commit_ + ", which no branch or tag"));
    remember(kernel, "another source");
    EXPECT_THAT(said(root_ + "/" + name, root_), HasSubstr("does not know"));
    remember("another kernel", "source");
    EXPECT_THAT(said(root_ + "/" + name, root_), HasSubstr("does not know"));
}

TEST_F(Evidence, a_line_of_the_index_that_was_changed_or_removed_is_refused) {
    CommittedReceipts(root_).retire(first, commit_);
    CommittedReceipts(root_).retire(second, commit_);
    commit_all("2026-01-04T00:00:00Z");
    ASSERT_THAT(lost(), IsEmpty());
    replace_in(index, "0.0001", "0.0002");
    EXPECT_THAT(lost(), ElementsAre(StartsWith("receipts/index.jsonl:1: the line of receipts/cpu/"
                                               "2026-01-01-one")));
    // Committing the change does not help.
    commit_all("2026-01-05T00:00:00Z");
    EXPECT_EQ(lost().size(), 1U);
    replace_in(index, "2026-01-01-two", "");
    ASSERT_EQ(lost().size(), 3U) << "the manifest's line has no successor either";
    EXPECT_THAT(lost()[1] + lost()[0], HasSubstr("receipts/index.jsonl:0: the line of"));
}

TEST_F(Evidence, a_sealed_line_of_the_index_that_was_changed_or_removed_is_refused) {
    CommittedReceipts(root_).retire(first, commit_of_files());
    commit_all("2026-01-04T00:00:00Z");
    CommittedReceipts(root_).seal();
    EXPECT_THAT(lost(), IsEmpty());
    EXPECT_THAT(wrong(), IsEmpty());
    commit_all("2026-01-05T00:00:00Z");
    EXPECT_THAT(lost(), IsEmpty());
    const std::string sealed = root_ + "/" + sealed_index_file;
    std::string text = stored_text(sealed);
    text.replace(text.find("0.0001"), 6, "0.0002");
    write(sealed, gzip(text));
    EXPECT_THAT(lost(),
                ElementsAre(StartsWith("receipts/index.jsonl.gz:1: the line of receipts/cpu/")));
    EXPECT_THAT(wrong(),
                ElementsAre(StartsWith("receipts/index.jsonl.gz:1: receipts/cpu/2026-01-01")));
    write(sealed, gzip(""));
    EXPECT_THAT(testing::PrintToString(lost()), HasSubstr("receipts/index.jsonl:0: the line of"));
}

TEST_F(Evidence, a_sealed_line_is_as_old_as_its_line_was) {
    CommittedReceipts(root_).retire(first, commit_of_files());
    replace_in(index, "0.0001", "0.0002");
    commit_all("2026-01-04T00:00:00Z");
    CommittedReceipts(root_).seal();
    for (int i = 0; i < CommittedEvidence::commits_looked_at; ++i) {
        EXPECT_EQ(wrong().size(), 1U) << i;
        commit_all("2026-01-05T00:00:00Z");
    }
    EXPECT_THAT(wrong(), IsEmpty());
}

TEST_F(Evidence, a_line_of_the_manifest_that_was_changed_or_removed_is_refused) {
    const std::string hash = CommittedReceipts(root_).manifest()[0].at("last_hash");
    replace_in(manifest, hash, std::string(64, 'a'));
    EXPECT_THAT(lost(), ElementsAre(StartsWith("receipts/manifest.jsonl:1: the line of "
                                               "receipts/cpu/2026-01-01-one")));
    replace_in(manifest, "2026-01-01-one", "");
    fs::remove(root_ + "/" + first);
    commit_all("2026-01-04T00:00:00Z");
    EXPECT_THAT(lost(), ElementsAre(StartsWith("receipts/manifest.jsonl:0: the line of "
                                               "receipts/cpu/2026-01-01-one")));
}

TEST_F(Evidence, a_file_may_leave_and_ceilings_may_be_measured_again) {
    CommittedReceipts(root_).retire(first, commit_);
    fs::remove(root_ + "/" + ceilings);
    write_run(root_ + "/" + ceilings);
    CommittedReceipts(root_).update_manifest({ceilings});
    commit_all("2026-01-04T00:00:00Z");
    EXPECT_THAT(lost(), IsEmpty());
    replace_in(manifest, "ceilings.jsonl", "");
    EXPECT_EQ(lost().size(), 2U) << "both of its lines are gone without a successor";
}

// The line is new: no commit has it otherwise. Its file tells.
TEST_F(Evidence, a_line_of_the_index_that_was_edited_before_its_first_commit_is_refused) {
    CommittedReceipts(root_).retire(first, commit_of_files());
    ASSERT_THAT(wrong(), IsEmpty()) << "not committed yet";
    Json line = CommittedReceipts(root_).index().at(0);
    const auto with = [&](const char* at, const Json& value) {
        Json edited = line;
        edited.at(Json::json_pointer(at)) = value;
        edited["hash"] = row_hash(edited);
        write(root_ + "/" + index, dump_json(edited) + "\n");
        EXPECT_THAT(CommittedReceipts(root_).disagreements(), IsEmpty()) << at;
        return wrong();
    };
    commit_all("2026-01-04T00:00:00Z");
    EXPECT_THAT(wrong(), IsEmpty());
    struct {
        const char* at;
        Json value;
    } const edits[] = {{"/measurements/0/11", 9e-5},
                       {"/measurements/0/10", 1.01e-4},
                       {"/measurements/0/9", "2026-01-01T00:00:00.000000Z"},
                       {"/kernels/0", "simt"},
                       {"/cases/0/cold", false},
                       {"/devices/0/name", "another CPU"},
                       {"/rows", 3},
                       {"/measurements", Json::array()},
                       {"/sha256", std::string(64, 'a')},
                       {"/last_hash", std::string(64, 'a')}};
    for (const auto& [at, value] : edits) {
        EXPECT_THAT(with(at, value),
                    ElementsAre(AllOf(StartsWith("receipts/index.jsonl:1: receipts/cpu/2026-01-01-"
                                                 "one-0123456789ab.jsonl: its line in the index: "
                                                 "not as commit "),
                                      HasSubstr(std::string("has the file: ") + at))));
    }
    EXPECT_THAT(with("/commit", commit_),
                ElementsAre(HasSubstr("its commit " + commit_ + " has no such file")));
    EXPECT_THAT(with("/commit", std::string(40, 'c')),
                ElementsAre(HasSubstr("is of no branch and no tag")));
    EXPECT_THAT(with("/path", "receipts/cpu/x\ny.jsonl"), ElementsAre(HasSubstr("no such file")));
}

TEST_F(Evidence, older_lines_of_the_index_are_left_to_a_check_of_all) {
    CommittedReceipts(root_).retire(first, commit_of_files());
    replace_in(index, "0.0001", "0.0002");
    commit_all("2026-01-04T00:00:00Z");
    for (int i = 0; i < CommittedEvidence::commits_looked_at; ++i) {
        EXPECT_EQ(wrong().size(), 1U) << i;
        commit_all("2026-01-05T00:00:00Z");
    }
    EXPECT_THAT(wrong(), IsEmpty());
    const CommittedReceipts receipts(root_);
    const GitHistory history(root_);
    EXPECT_THAT(lines_unlike_their_files(receipts.index(), history),
                ElementsAre(testing::Field(&WrongLine::place, 0U)));
}

// Lines that a merge dropped: the history of the other side has them.
TEST_F(Evidence, a_line_that_a_merge_dropped_is_refused) {
    git("checkout -q -b side");
    CommittedReceipts(root_).retire(first, commit_);
    commit_all("2026-01-04T00:00:00Z");
    git("checkout -q -");
    git("merge -q --no-ff -s ours -m merge side", "2026-01-05T00:00:00Z");
    EXPECT_THAT(lost(), IsEmpty()) << "the file is here and in the manifest: nothing is lost";
    replace_in(manifest, first, "");
    EXPECT_THAT(lost(), ElementsAre(StartsWith("receipts/index.jsonl:0: "),
                                    StartsWith("receipts/manifest.jsonl:0: ")));
}

TEST_F(Evidence, of_a_compressed_file_is_that_of_the_plain_one) {
    CommittedReceipts(root_).compress(first);
    const std::string packed = std::string(first) + ".gz";
    EXPECT_EQ(said(root_ + "/" + packed, root_, true), "");
    EXPECT_THAT(lost(), IsEmpty()) << "the same file by another name";
    commit_all("2026-01-04T00:00:00Z");
    EXPECT_THAT(lost(), IsEmpty());
    // Whatever lies in its place, plain or not, is held against the manifest.
    const auto without_last = [](std::vector<Json>& rows) { rows.pop_back(); };
    const std::string cut = edited(packed, without_last, path("cut.jsonl"));
    EXPECT_THAT(said(cut, root_), StartsWith("1: the file begins as " + packed));
    const auto change = [](std::vector<Json>& rows) { rows[0]["tile"]["m"] = 1; };
    EXPECT_THAT(said(edited(packed, change, root_ + "/" + first), root_),
                StartsWith("1: the manifest names this file with the first hash"));
    write(path("changed.jsonl.gz"), gzip(read(cut)));
    EXPECT_THAT(said(path("changed.jsonl.gz"), root_), StartsWith("1: the file begins as"));
    // Another text by that name is another file.
    const Json line = CommittedReceipts(root_).manifest().front();
    ASSERT_EQ(line.at("path"), packed);
    replace_in(manifest, line.at("sha256").get<std::string>(), std::string(64, 'a'));
    EXPECT_THAT(lost(), testing::Contains(HasSubstr("the index does not repeat it")));
}

TEST_F(Evidence, a_file_that_came_back_takes_its_line_out_of_the_index) {
    CommittedReceipts(root_).compress(second);
    commit_all("2026-01-04T00:00:00Z");
    const std::string had_second = commit_of_files();
    CommittedReceipts(root_).retire(first, commit_of_files());
    CommittedReceipts(root_).retire(std::string(second) + ".gz", had_second);
    commit_all("2026-01-05T00:00:00Z");
    EXPECT_THAT(wrong(), IsEmpty()) << "a commit may have the file compressed";
    // Without its file the line is missed.
    const std::string whole = read(root_ + "/" + index);
    replace_in(index, first, "");
    EXPECT_THAT(lost(), testing::Contains(HasSubstr("`receipt_index restore` is the only way")));
    write(root_ + "/" + index, whole);

    const std::string content =
        *output_of({"git", "-C", root_, "cat-file", "blob", had_second + ":" + first});
    CommittedReceipts(root_).restore(first, content);
    EXPECT_THAT(lost(), IsEmpty());
    commit_all("2026-01-06T00:00:00Z");
    EXPECT_THAT(lost(), IsEmpty());
    EXPECT_EQ(said(root_ + "/" + first + ".gz", root_, true), "");
    // And again the other way: its new line names another commit, and is held against that.
    CommittedReceipts(root_).retire(std::string(first) + ".gz", commit_of_files());
    commit_all("2026-01-07T00:00:00Z");
    EXPECT_THAT(lost(), IsEmpty());
    EXPECT_THAT(wrong(), IsEmpty());
    replace_in(index, "0.0001", "0.0002");
    EXPECT_FALSE(wrong().empty() || lost().empty());
}

TEST_F(Evidence, without_a_whole_history_a_sentence_says_so) {
    CommittedReceipts(root_).retire(first, commit_);
    commit_all("2026-01-04T00:00:00Z");
    git("clone -q --depth 1 file://" + root_ + " " + path("shallow"));
    const CommittedEvidence shallow(path("shallow"), {});
    EXPECT_THAT(shallow.history_note(),
                StartsWith("history not checked: the clone is shallow; `git fetch --unshallow`"));
    EXPECT_THAT(shallow.lost_lines(), IsEmpty());
    EXPECT_THAT(shallow.wrong_lines(), IsEmpty());
    fs::remove_all(root_ + "/.git");
    EXPECT_THAT(CommittedEvidence(root_, {}).history_note(),
                StartsWith("history not checked: git is not installed, or knows no repository"));
}

TEST_F(Evidence, is_of_the_tree_above_the_file_or_of_the_working_folder) {
    EXPECT_EQ(tree_of(root_ + "/" + first), fs::canonical(root_).string());
    EXPECT_EQ(tree_of(root_ + "/receipts/none.jsonl"), fs::canonical(root_).string());
    const fs::path before = fs::current_path();
    fs::current_path(root_ + "/receipts");
    EXPECT_EQ(tree_of(path("elsewhere.jsonl")), fs::canonical(root_).string());
    fs::current_path("/");
    EXPECT_EQ(tree_of(path("elsewhere.jsonl")), "");
    fs::current_path(before);
}

}  // namespace
}  // namespace raceline
