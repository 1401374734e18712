// SPDX-License-Identifier: Apache-2.0
#include "receipt/committed_evidence.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "receipt/git_history.hpp"
#include "receipt/left_files.hpp"
#include "receipt/manifest.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"
#include "support/gzip.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr const char* machine_code_path = "docs/machine_code.json";

std::string text_of(const Json& line, const char* member) {
    return line.value(member, "");
}

// Equal in all that the manifest says of a file, compressed or not; a line of the index says more.
bool same_file(const Json& a, const Json& b) {
    return plain_name(text_of(a, "path")) == plain_name(text_of(b, "path")) &&
           std::ranges::all_of(std::array{"sha256", "rows", "first_hash", "last_hash"},
                               [&](const char* member) {
                                   return a.value(member, Json()) == b.value(member, Json());
                               });
}

// A line of the index that a commit has. A file that came back stands in the manifest instead; if
// it left again, its line names a later commit, which wrong_lines() holds it against.
bool is_kept(const Json& line, const std::vector<Json>& manifest, const std::vector<Json>& index) {
    return std::ranges::any_of(manifest, [&](const Json& now) { return same_file(now, line); }) ||
           std::ranges::any_of(index, [&](const Json& now) {
               return same_file(now, line) && text_of(now, "commit") != text_of(line, "commit");
           });
}

// A file lies in one place, compressed or not.
bool is_one_place(const std::string& a, const std::string& b) {
    return plain_name(a) == plain_name(b);
}

/// The number of the line about `path`, 0 if there is none.
std::size_t line_about(const std::vector<Json>& lines, const std::string& path) {
    const auto at = std::ranges::find_if(
        lines, [&](const Json& line) { return text_of(line, "path") == path; });
    return at == lines.end() ? 0 : static_cast<std::size_t>(at - lines.begin()) + 1;
}

std::string rows_text(std::size_t count) {
    return counted_text(count, "row");
}

std::filesystem::path root_above(std::filesystem::path folder) {
    std::error_code none;
    for (;; folder = folder.parent_path()) {
        if (std::filesystem::exists(folder / manifest_file, none)) {
            return folder;
        }
        if (folder == folder.parent_path()) {
            return {};
        }
    }
}

/// Rows of one file that share a fault: said once, in the line of the first.
struct Rows {
    std::size_t first_line = 0, count = 0;
    bool rebuildable = true;  ///< the device code of all of them, though their commit is gone
    void add(std::size_t line) { first_line = count++ == 0 ? line : first_line; }
};

using Sources = std::map<std::string, std::set<std::string>>;

// The sources of each kernel of which the tree remembers what they were compiled to; none where it
// has no such file.
Sources remembered_in(const std::string& root) {
    Sources sources;
    std::ifstream in(root + "/" + machine_code_path);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const Json known = text.empty() ? Json::object() : parse_json(text, machine_code_path);
    for (auto kernel = known.begin(); kernel != known.end(); ++kernel) {
        for (auto source = kernel->begin(); source != kernel->end(); ++source) {
            sources[kernel.key()].insert(source.key());
        }
    }
    return sources;
}

// Whether the device code that a row is of can be built again without the row's commit. Rows of no
// kernel need none.
bool is_rebuildable(const Json& row, const Sources& remembered) {
    const std::string kernel = text_of(row, "kernel");
    const auto sources = remembered.find(kernel);
    return kernel.empty() ||
           (sources != remembered.end() && sources->second.contains(text_of(row, "source_hash")));
}

}  // namespace

std::string tree_of(const std::string& path) {
    std::error_code none;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, none);
    const std::filesystem::path above = root_above(whole.parent_path());
    return (above.empty() ? root_above(std::filesystem::current_path(none)) : above).string();
}

CommittedEvidence::CommittedEvidence(std::string root,
                                     std::span<const build_info::EmbeddedReceipt> built_in)
    : root_(std::move(root)) {
    if (!root_.empty()) {
        const CommittedReceipts receipts(root_);
        manifest_ = receipts.manifest();
        index_ = receipts.index();
        for (std::size_t i = 0; i < index_.size(); ++i) {
            index_places_.push_back(receipts.place_of_line(i));
        }
        history_ = std::make_unique<GitHistory>(root_);
        remembered_ = remembered_in(root_);
    }
    for (const Json& line : manifest_) {
        know(line, true);
    }
    for (const Json& line : index_) {
        know(line, false);
    }
    for (const auto& file : built_in) {
        // The tree's may have been measured again since.
        const std::string path(file.path);
        if (!may_change(path) || line_about(manifest_, path) == 0) {
            known_.push_back(
                {path, std::string(file.first_hash), std::string(file.last_hash), file.rows});
        }
    }
}

CommittedEvidence::~CommittedEvidence() = default;

void CommittedEvidence::know(const Json& line, bool in_manifest) {
    try {
        known_.push_back({text_of(line, "path"), line.at("first_hash").get<std::string>(),
                          line.at("last_hash").get<std::string>(),
                          line.at("rows").get<std::size_t>(), in_manifest});
    } catch (const Json::exception& e) {
        fail(Status::corrupt, "{}: the line of {}: {}", in_manifest ? manifest_file : index_file,
             text_of(line, "path"), e.what());
    }
}

std::string CommittedEvidence::path_in_tree(const std::string& path) const {
    std::error_code none;
    const auto whole = std::filesystem::weakly_canonical(path, none);
    return root_.empty() ? "" : whole.lexically_relative(root_).generic_string();
}

CommittedEvidence::Answer CommittedEvidence::check(const std::string& path,
                                                   const ReceiptFile& file) const {
    Answer answer;
    const std::string in_tree = path_in_tree(path);
    if (file.rows.empty()) {
        const auto named = std::ranges::find_if(known_, [&](const Known& one) {
            return one.in_manifest && is_one_place(one.path, in_tree) && one.rows > 0;
        });
        if (named != known_.end()) {
            answer.refused.push_back(
                {1, fmt::format("the manifest names this file with {}; here it has none",
                                rows_text(named->rows))});
        }
        return answer;
    }
    check_ends(in_tree, file, answer);
    const auto& first = file.rows.front().at("hash").get_ref<const std::string&>();
    const bool committed = std::ranges::any_of(known_, [&](const Known& one) {
        return one.in_manifest && (one.first_hash == first || is_one_place(one.path, in_tree));
    });
    if (!committed && in_tree.starts_with("receipts/") && line_about(index_, in_tree) == 0) {
        answer.notes.emplace_back("the manifest does not name it: it is no committed evidence yet");
    }
    check_commits(file, committed, answer);
    for (std::string& note : answer.notes) {
        note.insert(0, path + ": ");
    }
    return answer;
}

void CommittedEvidence::check_ends(const std::string& in_tree, const ReceiptFile& file,
                                   Answer& answer) const {
    const auto& first = file.rows.front().at("hash").get_ref<const std::string&>();
    const auto& last = file.rows.back().at("hash").get_ref<const std::string&>();
    for (const Known& one : known_) {
        const bool begins_alike = one.first_hash == first;
        if (begins_alike && (one.rows != file.rows.size() || one.last_hash != last)) {
            answer.refused.push_back(
                {file.lines.back(),
                 fmt::format("the file begins as {} does, which was committed with {} up to the "
                             "hash {}; it has {} up to {}: rows were removed, added or changed",
                             one.path, rows_text(one.rows), one.last_hash,
                             rows_text(file.rows.size()), last)});
            return;
        }
        if (!begins_alike && one.in_manifest && is_one_place(one.path, in_tree)) {
            answer.refused.push_back(
                {file.lines.front(),
                 fmt::format("the manifest names this file with the first hash {}; here it is {}: "
                             "its first row was removed or changed",
                             one.first_hash, first)});
            return;
        }
    }
}

void CommittedEvidence::check_commits(const ReceiptFile& file, bool committed,
                                      Answer& answer) const {
    Rows dirty;
    std::map<std::string, Rows> unknown;  // by commit
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const Json& row = file.rows[i];
        const auto commit = row.at("git").at("commit").get<std::string>();
        if (row.at("git").at("dirty").get<bool>()) {
            dirty.add(file.lines[i]);
        }
        const auto made = history_ ? history_->date_of(commit) : std::nullopt;
        if (!made) {
            unknown[commit].add(file.lines[i]);
            unknown[commit].rebuildable &= is_rebuildable(row, remembered_);
        } else if (row.at("written").get_ref<const std::string&>() < *made) {
            answer.refused.push_back(
                {file.lines[i], fmt::format("written {}, before its commit {} was made ({})",
                                            row.at("written").get<std::string>(), commit, *made)});
        }
    }
    if (dirty.count > 0) {
        const std::string what = fmt::format("{} of a tree with uncommitted changes (git.dirty)",
                                             rows_text(dirty.count));
        if (committed) {
            answer.refused.push_back(
                {dirty.first_line,
                 fmt::format("{} from this one on: nobody can build that program again, so they "
                             "are no evidence to commit",
                             what)});
        } else {
            answer.notes.push_back(what + ": not to be committed as evidence");
        }
    }
    for (const auto& [commit, rows] : unknown) {
        const bool whole = history_ && history_->missing().empty();
        if (committed && whole && !rows.rebuildable) {
            answer.refused.push_back(
                {rows.first_line,
                 fmt::format("{} from this one on of the commit {}, which no branch or tag of the "
                             "history has, and of a source that {} does not know",
                             rows_text(rows.count), commit, machine_code_path)});
        } else if (committed && whole) {
            answer.notes.push_back(
                fmt::format("{} of the commit {}, which no branch or tag of the history has; {} "
                            "knows the machine code of their source",
                            rows_text(rows.count), commit, machine_code_path));
        } else if (history_) {  // without a tree nothing is known of any row: one line says so
            answer.notes.push_back(
                fmt::format("{} of the commit {}, whose date is not known here{}",
                            rows_text(rows.count), commit, whole ? "" : ": " + history_note()));
        }
    }
}

std::vector<CommittedEvidence::LostLine> CommittedEvidence::lost_lines() const {
    std::vector<LostLine> lost;
    if (!history_ || !history_->missing().empty()) {
        return lost;
    }
    std::set<std::string> index_now;
    for (const Json& line : index_) {
        index_now.insert(dump_json(line));
    }
    for (const std::string& text : history_->lines_ever_in(index_file)) {
        const Json line = parse_json(text, index_file);
        if (!index_now.contains(dump_json(line)) && !is_kept(line, manifest_, index_)) {
            const std::string path = text_of(line, "path");
            const std::size_t number = line_about(index_, path);
            const auto [file, there] =
                number > 0 ? index_places_[number - 1] : CommittedReceipts::Place{index_file, 0};
            lost.push_back({file, there,
                            fmt::format("the line of {} is not as a commit has it: lines of the "
                                        "index are never changed, and `receipt_index restore` is "
                                        "the only way out of it",
                                        path)});
        }
    }
    for (const std::string& text : history_->lines_ever_in(manifest_file)) {
        const Json line = parse_json(text, manifest_file);
        const auto still = [&](const Json& now) { return same_file(now, line); };
        const std::string path = text_of(line, "path");
        const std::size_t number = line_about(manifest_, path);
        const bool replaced = may_change(path) && number > 0;
        if (!replaced && std::ranges::none_of(manifest_, still) &&
            std::ranges::none_of(index_, still)) {
            lost.push_back({manifest_file, number,
                            fmt::format("the line of {} is not as a commit has it, and the index "
                                        "does not repeat it: `receipt_index retire` is the only "
                                        "way out of the manifest",
                                        path)});
        }
    }
    return lost;
}

std::vector<CommittedEvidence::LostLine> CommittedEvidence::wrong_lines() const {
    std::vector<LostLine> wrong;
    if (!history_ || !history_->missing().empty()) {
        return wrong;
    }
    std::set<std::string> older;
    for (const char* file : {sealed_index_file, index_file}) {
        const std::string content = history_->file_before(file, commits_looked_at);
        std::istringstream before(is_gzip(content) ? gunzip(content, file) : content);
        for (std::string text; std::getline(before, text);) {
            older.insert(text);
        }
    }
    std::vector<Json> lines;
    std::vector<CommittedReceipts::Place> places;
    int newest_schema = 1;
    for (std::size_t i = 0; i < index_.size(); ++i) {
        // Else a new line could say less by calling itself an old one.
        if (const int schema = index_[i].value("schema", 0);
            schema < newest_schema || schema > index_schema) {
            const auto [file, number] = index_places_[i];
            wrong.push_back({file, number,
                             fmt::format("{}: its line in the index is of schema {}, behind one of "
                                         "schema {}",
                                         text_of(index_[i], "path"), schema, newest_schema)});
        } else {
            newest_schema = schema;
        }
        if (!older.contains(dump_json(index_[i]))) {
            lines.push_back(index_[i]);
            places.push_back(index_places_[i]);
        }
    }
    for (auto& [place, what] : lines_unlike_their_files(lines, *history_)) {
        const auto [file, number] = places[place];
        wrong.push_back({file, number, std::move(what)});
    }
    return wrong;
}

std::string CommittedEvidence::history_note() const {
    if (!history_) {
        return "history not checked: neither the file nor the working folder lies in a tree with "
               "receipts/manifest.jsonl";
    }
    return history_->missing().empty() ? "" : "history not checked: " + history_->missing();
}

}  // namespace raceline
