// SPDX-License-Identifier: Apache-2.0
// receipts/manifest.jsonl names every receipt file in the work tree; the index every one that left
// it, with what later predictions need of it. Together they are all committed evidence. The index
// is two files, read as one: index.jsonl takes new lines, index.jsonl.gz has those that were
// sealed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "receipt/past_measurement.hpp"
#include "support/json.hpp"

namespace raceline {

/// From the root of a tree.
inline constexpr const char* manifest_file = "receipts/manifest.jsonl";
inline constexpr const char* index_file = "receipts/index.jsonl";
inline constexpr const char* sealed_index_file = "receipts/index.jsonl.gz";

/// What the manifest says of a file with this content, plain or compressed: {path, sha256, rows,
/// first_hash, last_hash}, all of its text. Throws Error(corrupt) if a line is no valid row, or
/// there is none.
Json manifest_line(std::string_view path, std::string_view content);

/// What the index says of a file with this content once it has left the tree, and `commit` has it:
/// that, its measurements (index_line), and the hash of it all. Throws as manifest_line does, and
/// std::runtime_error for rows that the index has no room for. `schema` is that of the line.
Json line_of_left_file(std::string_view path, std::string_view content, std::string_view commit,
                       int schema = index_schema);

/// Of ceilings.jsonl and power.jsonl: both may be measured again, and the program compiles them in
/// as they are. Other receipts are those of one run, which never change.
bool may_change(std::string_view path);

/// Manifest and index of a tree. Paths are relative to its root: receipts/<device>/<file>.jsonl.gz.
class CommittedReceipts {
public:
    /// Reads both; a file that is not there is one without lines. Throws Error(corrupt) naming file
    /// and line.
    explicit CommittedReceipts(std::string root);

    [[nodiscard]] const std::vector<Json>& manifest() const { return manifest_; }
    /// Sealed lines first.
    [[nodiscard]] const std::vector<Json>& index() const { return index_; }
    /// Where the line of the index at `place` stands: its file and its number in it, from 1.
    struct Place {
        const char* file;
        std::size_t line;
    };
    [[nodiscard]] Place place_of_line(std::size_t place) const;
    /// Every receipt file in a subfolder of receipts/, sorted.
    [[nodiscard]] std::vector<std::string> paths_in_tree() const;

    /// Sentences that say where tree, manifest and index disagree: a file that the manifest does
    /// not name or that is not as it says, a line without its file, a file that left and is there,
    /// one that is there plain and compressed, an index line that is broken. Empty: all holds.
    [[nodiscard]] std::vector<std::string> disagreements() const;

    /// Sentences about files that are not stored as compress() does: one that is plain, or
    /// compressed with a name or a date, so that the same text would be other bytes another time.
    /// ceilings.jsonl and power.jsonl stay plain. Empty: all are.
    [[nodiscard]] std::vector<std::string> storage_faults() const;

    /// Compresses the file of a run, and names it so in the manifest. What a run said, and all
    /// hashes, stay. Throws Error(invalid_argument) for a file that may change, and one that is not
    /// as the manifest says.
    void compress(const std::string& path);

    /// Brings a file back that left, compressed, and takes its line out of the index. `content` is
    /// what the commit of that line has. Throws Error(invalid_argument) for a file that did not
    /// leave, Error(corrupt) for one that is not as its line says.
    void restore(const std::string& path, std::string_view content);

    /// Adds the lines of files that are new in the tree; of those in `changed`, replaces the line.
    /// Only receipts/<device>/ceilings.jsonl may change: other receipts are never edited, and
    /// Error(invalid_argument) says so. Returns the paths of new lines.
    std::vector<std::string> update_manifest(const std::vector<std::string>& changed);

    /// Writes the file's line at the end of the index, takes it out of the manifest, and deletes
    /// the file, in this order: stopped between, it can be called again. `commit` must have the
    /// file as it is, which the caller has seen. Throws Error(invalid_argument) for a file that is
    /// not in the manifest or not as it says.
    void retire(const std::string& path, std::string_view commit);

    /// Moves every line of index.jsonl behind those of index.jsonl.gz, as it is. Returns how many.
    /// That every one is committed, the caller has seen: later checks look for lines in commits of
    /// index.jsonl.
    std::size_t seal();

private:
    [[nodiscard]] Json line_of_file(const std::string& path) const;
    void store(const std::string& path, const std::string& text) const;
    void write_manifest();
    void write_index() const;
    std::string root_;
    std::vector<Json> manifest_, index_;
    std::size_t sealed_ = 0;  ///< of index_, from the first on
};

}  // namespace raceline
