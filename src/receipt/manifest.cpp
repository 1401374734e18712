// SPDX-License-Identifier: Apache-2.0
#include "receipt/manifest.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "receipt/appended_file.hpp"
#include "receipt/file.hpp"
#include "receipt/past_measurement.hpp"
#include "receipt/row.hpp"
#include "support/check.hpp"
#include "support/sha256.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

constexpr const char* manifest_name = "receipts/manifest.jsonl";
constexpr const char* index_name = "receipts/index.jsonl";

std::string read_text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    require(in.good() || in.eof(), Status::io, "{}: cannot be read", path.string());
    return text;
}

std::vector<Json> read_lines(const fs::path& path) {
    std::vector<Json> lines;
    std::ifstream in(path);
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

std::string path_of(const Json& line) {
    return line.at("path").get<std::string>();
}

const Json* find(const std::vector<Json>& lines, std::string_view path) {
    const auto at =
        std::ranges::find_if(lines, [&](const Json& line) { return path_of(line) == path; });
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

Json manifest_line(std::string_view path, std::string_view content) {
    return line_of_rows(path, content, parse_receipts(content));
}

Json line_of_left_file(std::string_view path, std::string_view content, std::string_view commit,
                       int schema) {
    const ReceiptFile file = parse_receipts(content);
    Json line =
        index_line(line_of_rows(path, content, file), commit, past_measurements(file.rows), schema);
    line["hash"] = row_hash(line);
    return line;
}

CommittedReceipts::CommittedReceipts(std::string root)
    : root_(std::move(root)),
      manifest_(read_lines(fs::path(root_) / manifest_name)),
      index_(read_lines(fs::path(root_) / index_name)) {}

std::vector<std::string> CommittedReceipts::paths_in_tree() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root_) / "receipts")) {
        const std::string path = fs::relative(entry.path(), root_).generic_string();
        if (entry.is_regular_file() && entry.path().extension() == ".jsonl" &&
            path != manifest_name && path != index_name) {
            paths.push_back(path);
        }
    }
    std::ranges::sort(paths);
    return paths;
}

Json CommittedReceipts::line_of_file(const std::string& path) const {
    return manifest_line(path, read_text(fs::path(root_) / path));
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
        if (find(index_, path) != nullptr) {
            found.push_back(path + ": left the tree by the index, and is there");
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
        const fs::path name = fs::path(path).filename();
        require(
            name == "ceilings.jsonl" || name == "power.jsonl", Status::invalid_argument,
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
    const std::string content = read_text(fs::path(root_) / path);
    const Json line = manifest_line(path, content);
    require(line == *known, Status::invalid_argument, "{}: not as the manifest says: {}", path,
            dump_json(*known));
    if (find(index_, path) == nullptr) {
        const Json kept = line_of_left_file(path, content, commit);
        AppendedFile file((fs::path(root_) / index_name).string());
        const AppendedFile::Lock lock(file);
        file.append(dump_json(kept) + '\n', file.size());
        index_.push_back(kept);
    }
    std::erase_if(manifest_, [&](const Json& other) { return path_of(other) == path; });
    write_manifest();
    fs::remove(fs::path(root_) / path);
}

void CommittedReceipts::write_manifest() {
    std::ranges::sort(manifest_, {}, path_of);
    const fs::path path = fs::path(root_) / manifest_name;
    const fs::path fresh = path.string() + ".new";
    std::ofstream out(fresh, std::ios::binary);
    for (const Json& line : manifest_) {
        out << dump_json(line) << '\n';
    }
    out.close();
    require(!out.fail(), Status::io, "{}: cannot be written", fresh.string());
    fs::rename(fresh, path);
}

}  // namespace raceline
