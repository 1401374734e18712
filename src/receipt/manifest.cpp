// SPDX-License-Identifier: Apache-2.0
#include "receipt/manifest.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <utility>

#include "receipt/appended_file.hpp"
#include "receipt/file.hpp"
#include "receipt/past_measurement.hpp"
#include "receipt/row.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"
#include "support/gzip.hpp"
#include "support/sha256.hpp"
#include "support/whole_file.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

std::vector<Json> read_lines(const fs::path& path) {
    std::vector<Json> lines;
    if (!fs::exists(path)) {
        return lines;
    }
    std::istringstream in(stored_text(path.string()));
    for (std::string text; std::getline(in, text);) {
        // The next line would be appended to it.
        require(!in.eof(), Status::corrupt, "{}: its last line has no end; a line ends in '\\n'",
                path.string());
        const std::string where = fmt::format("{}: line {}", path.string(), lines.size() + 1);
        lines.push_back(parse_json(text, where));
        require(lines.back().is_object() && lines.back().contains("path") &&
                    lines.back().at("path").is_string(),
                Status::corrupt, "{}: has no path", where);
    }
    return lines;
}

std::string text_of_lines(std::span<const Json> lines) {
    std::string text;
    for (const Json& line : lines) {
        text += dump_json(line) + '\n';
    }
    return text;
}

std::string path_of(const Json& line) {
    return line.at("path").get<std::string>();
}

const Json* find(const std::vector<Json>& lines, std::string_view path) {
    const auto at =
        std::ranges::find_if(lines, [&](const Json& line) { return path_of(line) == path; });
    return at == lines.end() ? nullptr : &*at;
}

// Of the same file, compressed or not.
const Json* find_plain(const std::vector<Json>& lines, std::string_view path) {
    const auto at = std::ranges::find_if(
        lines, [&](const Json& line) { return plain_name(path_of(line)) == plain_name(path); });
    return at == lines.end() ? nullptr : &*at;
}

// What is wrong with a line of the index, or "".
std::string broken(const Json& line) {
    try {
        for (const char* member : {"sha256", "first_hash", "last_hash", "commit"}) {
            line.at(member).get<std::string>();
        }
        line.at("rows").get<std::size_t>();
        if (const int schema = line.at("schema").get<int>(); schema < 1 || schema > index_schema) {
            return fmt::format("schema {} is none of the index: it has 1 to {}", schema,
                               index_schema);
        }
        past_measurements_of_line(line);
        if (row_hash(line) != line.at("hash").get<std::string>()) {
            return "hash does not match: it was changed after it was written";
        }
    } catch (const Json::exception& e) {
        return e.what();
    }
    return "";
}

// Files are named and hashed by what they say, however they lie there.
std::string unpacked(std::string_view path, std::string_view content) {
    return is_gzip(content) ? gunzip(content, path) : std::string(content);
}

Json line_of_rows(std::string_view path, std::string_view content, const ReceiptFile& file) {
    if (!file.bad.empty()) {
        fail(Status::corrupt, "{}: line {}: {}", path, file.bad.front().line,
             file.bad.front().reason);
    }
    require(!file.unfinished && !file.rows.empty(), Status::corrupt,
            "{}: {}; a receipt is whole rows", path,
            file.unfinished ? "its last line is unfinished" : "it has no row");
    return Json{{"path", path},
                {"sha256", sha256_hex(content)},
                {"rows", file.rows.size()},
                {"first_hash", file.rows.front().at("hash")},
                {"last_hash", file.rows.back().at("hash")}};
}

}  // namespace

bool may_change(std::string_view path) {
    const fs::path name = fs::path(path).filename();
    return name == "ceilings.jsonl" || name == "power.jsonl";
}

Json manifest_line(std::string_view path, std::string_view content) {
    const std::string text = unpacked(path, content);
    return line_of_rows(path, text, parse_receipts(text));
}

Json line_of_left_file(std::string_view path, std::string_view content, std::string_view commit,
                       int schema) {
    const std::string text = unpacked(path, content);
    const ReceiptFile file = parse_receipts(text);
    Json line =
        index_line(line_of_rows(path, text, file), commit, past_measurements(file.rows), schema);
    line["hash"] = row_hash(line);
    return line;
}

CommittedReceipts::CommittedReceipts(std::string root)
    : root_(std::move(root)),
      manifest_(read_lines(fs::path(root_) / manifest_file)),
      index_(read_lines(fs::path(root_) / sealed_index_file)),
      sealed_(index_.size()) {
    std::ranges::move(read_lines(fs::path(root_) / index_file), std::back_inserter(index_));
}

CommittedReceipts::Place CommittedReceipts::place_of_line(std::size_t place) const {
    return place < sealed_ ? Place{sealed_index_file, place + 1}
                           : Place{index_file, place - sealed_ + 1};
}

std::size_t CommittedReceipts::seal() {
    const std::size_t moved = index_.size() - sealed_;
    sealed_ = index_.size();
    write_index();
    return moved;
}

std::vector<std::string> CommittedReceipts::paths_in_tree() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root_) / "receipts")) {
        const std::string path = fs::relative(entry.path(), root_).generic_string();
        if (entry.is_regular_file() && is_receipt_name(path) &&
            entry.path().parent_path().filename() != "receipts") {
            paths.push_back(path);
        }
    }
    std::ranges::sort(paths);
    return paths;
}

Json CommittedReceipts::line_of_file(const std::string& path) const {
    return manifest_line(path, stored_text((fs::path(root_) / path).string()));
}

std::vector<std::string> CommittedReceipts::disagreements() const {
    std::vector<std::string> found;
    const std::vector<std::string> paths = paths_in_tree();
    for (const std::string& path : paths) {
        const Json* line = find(manifest_, path);
        if (line == nullptr) {
            found.push_back(path + ": not in the manifest");
        } else {
            try {
                if (const Json now = line_of_file(path); now != *line) {
                    found.push_back(fmt::format("{}: the manifest says {}, the file {}", path,
                                                dump_json(*line), dump_json(now)));
                }
            } catch (const Error& e) {
                found.emplace_back(e.what());
            }
        }
        if (find_plain(index_, path) != nullptr) {
            found.push_back(path + ": left the tree by the index, and is there");
        }
        if (const auto beside = path + ".gz"; std::ranges::binary_search(paths, beside)) {
            found.push_back(path + ": is there twice, plain and compressed");
        }
    }
    for (const Json& line : manifest_) {
        if (!std::ranges::binary_search(paths, path_of(line))) {
            found.push_back(path_of(line) + ": in the manifest, not in the tree");
        }
        if (find(manifest_, path_of(line)) != &line) {
            found.push_back(path_of(line) + ": in the manifest twice");
        }
    }
    int newest_schema = 1;
    for (const Json& line : index_) {
        if (const std::string why = broken(line); !why.empty()) {
            found.push_back(path_of(line) + ": its line in the index: " + why);
        } else if (const int schema = line.at("schema").get<int>(); schema < newest_schema) {
            found.push_back(
                fmt::format("{}: its line in the index is of schema {}, behind one of schema {}",
                            path_of(line), schema, newest_schema));
        } else {
            newest_schema = schema;
        }
        if (find(index_, path_of(line)) != &line) {
            found.push_back(path_of(line) + ": in the index twice");
        }
    }
    return found;
}

std::vector<std::string> CommittedReceipts::update_manifest(
    const std::vector<std::string>& changed) {
    for (const std::string& path : changed) {
        require(
            may_change(path), Status::invalid_argument,
            "{}: only ceilings.jsonl and power.jsonl may change; other receipts are never edited",
            path);
        std::erase_if(manifest_, [&](const Json& line) { return path_of(line) == path; });
    }
    std::vector<std::string> added;
    for (const std::string& path : paths_in_tree()) {
        if (find(manifest_, path) == nullptr) {
            manifest_.push_back(line_of_file(path));
            added.push_back(path);
        }
    }
    write_manifest();
    return added;
}

void CommittedReceipts::retire(const std::string& path, std::string_view commit) {
    const Json* known = find(manifest_, path);
    require(known != nullptr, Status::invalid_argument,
            "{}: not in the manifest, so it cannot leave the tree", path);
    const std::string content = stored_text((fs::path(root_) / path).string());
    const Json line = manifest_line(path, content);
    require(line == *known, Status::invalid_argument, "{}: not as the manifest says: {}", path,
            dump_json(*known));
    if (find(index_, path) == nullptr) {
        const Json kept = line_of_left_file(path, content, commit);
        AppendedFile file((fs::path(root_) / index_file).string());
        const AppendedFile::Lock lock(file);
        file.append(dump_json(kept) + '\n', file.size());
        index_.push_back(kept);
    }
    std::erase_if(manifest_, [&](const Json& other) { return path_of(other) == path; });
    write_manifest();
    fs::remove(fs::path(root_) / path);
}

std::vector<std::string> CommittedReceipts::storage_faults() const {
    std::vector<std::string> found;
    for (const std::string& path : paths_in_tree()) {
        std::ifstream in(fs::path(root_) / path, std::ios::binary);
        std::string head(16, '\0');
        in.read(head.data(), static_cast<std::streamsize>(head.size()));
        if (is_gzip(head) == may_change(path) || (is_gzip(head) && !is_plain_gzip(head)) ||
            is_gzip(head) == (plain_name(path) == path)) {
            found.push_back(path + (may_change(path)
                                        ? ": stays plain text, for the program compiles it in"
                                        : ": is not as `receipt_index compress` stores it"));
        }
    }
    return found;
}

void CommittedReceipts::compress(const std::string& path) {
    require(!may_change(path) && plain_name(path) == path, Status::invalid_argument,
            "{}: only runs are compressed, from NAME.jsonl to NAME.jsonl.gz; ceilings.jsonl and "
            "power.jsonl are compiled in as they are",
            path);
    const fs::path plain = fs::path(root_) / path;
    const std::string content = stored_text(plain.string());
    Json line = manifest_line(path, content);
    const Json* const known = find(manifest_, path);
    require(known == nullptr || *known == line, Status::invalid_argument,
            "{}: not as the manifest says", path);
    store(path + ".gz", content);
    std::erase_if(manifest_, [&](const Json& other) { return path_of(other) == path; });
    line["path"] = path + ".gz";
    manifest_.push_back(std::move(line));
    write_manifest();
    fs::remove(plain);
}

void CommittedReceipts::restore(const std::string& path, std::string_view content) {
    const Json* const left = find(index_, path);
    require(left != nullptr, Status::invalid_argument,
            "{}: not in the index, so it cannot come back", path);
    const std::string stored = std::string(plain_name(path)) + ".gz";
    Json line = manifest_line(path, content);
    require(std::ranges::all_of(
                line.items(), [&](const auto& one) { return left->at(one.key()) == one.value(); }),
            Status::corrupt, "{}: commit {} has it otherwise than the index says", path,
            left->at("commit").get<std::string>());
    line["path"] = stored;
    store(stored, unpacked(path, content));
    std::erase_if(manifest_, [&](const Json& other) { return path_of(other) == stored; });
    manifest_.push_back(std::move(line));
    write_manifest();
    const auto is_back = [&](const Json& other) { return path_of(other) == path; };
    sealed_ -= static_cast<std::size_t>(
        std::ranges::count_if(index_ | std::views::take(sealed_), is_back));
    std::erase_if(index_, is_back);
    write_index();
}

void CommittedReceipts::store(const std::string& path, const std::string& text) const {
    const std::string file = (fs::path(root_) / path).string();
    write_whole_file(file, gzip(text));
    require(stored_text(file) == text, Status::internal, "{}: unpacks to something else", path);
}

void CommittedReceipts::write_manifest() {
    std::ranges::sort(manifest_, {}, path_of);
    write_whole_file((fs::path(root_) / manifest_file).string(), text_of_lines(manifest_));
}

// The sealed file first: stopped between, lines stand twice, which a check says, and none is lost.
// A file without lines is none.
void CommittedReceipts::write_index() const {
    const std::span<const Json> all(index_);
    if (sealed_ > 0 || fs::exists(fs::path(root_) / sealed_index_file)) {
        store(sealed_index_file, text_of_lines(all.first(sealed_)));
    }
    const fs::path plain = fs::path(root_) / index_file;
    if (sealed_ < all.size()) {
        write_whole_file(plain.string(), text_of_lines(all.subspan(sealed_)));
    } else {
        fs::remove(plain);
    }
}

}  // namespace raceline
