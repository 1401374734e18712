// SPDX-License-Identifier: Apache-2.0
// A receipt file held against what was committed: manifest, index and git's history of them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "receipt/file.hpp"
#include "receipt/manifest.hpp"
#include "support/build_info.hpp"

namespace raceline {

class GitHistory;

/// What `report --check` knows beside the file itself: the manifest and the index of a tree, those
/// that were compiled in, and the history of that tree. What is noticed with it and what cannot be
/// is in docs/receipts.md.
class CommittedEvidence {
public:
    /// `root` has receipts/manifest.jsonl; empty: no tree is at hand, and only what was compiled in
    /// is known. Throws Error(corrupt) if manifest or index cannot be read.
    explicit CommittedEvidence(
        std::string root,
        std::span<const build_info::EmbeddedReceipt> built_in = build_info::committed_receipts());
    ~CommittedEvidence();
    CommittedEvidence(const CommittedEvidence&) = delete;
    CommittedEvidence& operator=(const CommittedEvidence&) = delete;

    struct Answer {
        std::vector<BadLine> refused;
        std::vector<std::string> notes;  ///< what could not be checked, and what is no evidence
    };

    /// Refused: a file that begins as a committed one does and is not that; a row that is older
    /// than its commit; and in a file that the manifest names, rows of a tree with uncommitted
    /// changes, or of a commit that the history lacks and of a source whose machine code the tree
    /// does not remember. Of other files the last two are notes.
    [[nodiscard]] Answer check(const std::string& path, const ReceiptFile& file) const;

    /// A line of manifest or index that a commit has and that is changed or gone.
    struct LostLine {
        std::string file;      ///< path of the manifest or the index
        std::size_t line = 0;  ///< of the line that stands in its place now, 0: none does
        std::string what;
    };
    /// A line of the index never changes, and leaves only if its file comes back. One of the
    /// manifest leaves if its file does (the index then repeats it), gets another name if it is
    /// compressed, and that of a ceilings.jsonl may be replaced by a new one.
    [[nodiscard]] std::vector<LostLine> lost_lines() const;

    /// A line of the index that came within the last `commits_looked_at` commits, or is not
    /// committed yet, and is not as its file was (left_files.hpp). `receipt_index check` looks at
    /// all lines, which takes seconds.
    [[nodiscard]] std::vector<LostLine> wrong_lines() const;
    static constexpr int commits_looked_at = 20;

    /// "history not checked: …", or empty if all of it is at hand.
    [[nodiscard]] std::string history_note() const;

private:
    struct Known {
        std::string path, first_hash, last_hash;
        std::size_t rows = 0;
        bool in_manifest = false;
    };
    void know(const Json& line, bool in_manifest);
    [[nodiscard]] std::string path_in_tree(const std::string& path) const;
    void check_ends(const std::string& in_tree, const ReceiptFile& file, Answer& answer) const;
    void check_commits(const ReceiptFile& file, bool committed, Answer& answer) const;
    std::string root_;
    std::vector<Json> manifest_, index_;
    std::vector<CommittedReceipts::Place> index_places_;  ///< of the lines of index_
    /// Hashes of sources of each kernel whose machine code the tree remembers.
    std::map<std::string, std::set<std::string>> remembered_;
    std::vector<Known> known_;
    std::unique_ptr<GitHistory> history_;
};

/// The root of the tree that a file lies in: the nearest folder above it that has
/// receipts/manifest.jsonl; if none has, the nearest from the working folder on; else "".
std::string tree_of(const std::string& path);

}  // namespace raceline
