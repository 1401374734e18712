// SPDX-License-Identifier: Apache-2.0
// Keeps receipts/ small. Run in the root of the tree:
//   receipt_index check                    what disagrees between tree, manifest, index and the
//                                          files that left, as git has them
//   receipt_index manifest [FILE...]       adds new files to the manifest, and compresses them;
//                                          FILE: a ceilings.jsonl that was measured again
//   receipt_index compress FILE...         NAME.jsonl becomes NAME.jsonl.gz, in the manifest too
//   receipt_index retire [--commit C] FILE...   the file leaves the tree: its line goes to the
//                                          index; C (default HEAD) must have the file as it is
//   receipt_index restore FILE...          a file that left comes back, compressed
//   receipt_index seal                     the lines of index.jsonl move to index.jsonl.gz; HEAD
//                                          must have them
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "receipt/git_history.hpp"
#include "receipt/left_files.hpp"
#include "receipt/manifest.hpp"
#include "receipt/stored_text.hpp"
#include "support/check.hpp"

namespace {

using raceline::CommittedReceipts;
using raceline::require;
using raceline::Status;

// Arguments go to a shell: only names that mean nothing to it.
void require_plain(const std::string& word) {
    const bool plain = !word.empty() && word.front() != '-' &&
                       word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_./-") == std::string::npos;
    require(plain, Status::invalid_argument,
            "'{}': letters, digits and _ . / - are accepted in paths and commits", word);
}

std::string output_of(const std::string& command) {
    std::FILE* pipe = popen(command.c_str(), "r");
    require(pipe != nullptr, Status::io, "cannot run {}", command);
    std::string text;
    std::array<char, 1 << 16> block{};
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
        text.append(block.data(), got);
    }
    require(pclose(pipe) == 0, Status::invalid_argument, "{} failed", command);
    return text;
}

void require_in_commit(const std::string& path, const std::string& commit) {
    std::ifstream in(path, std::ios::binary);
    const std::string here{std::istreambuf_iterator<char>(in), {}};
    require(output_of("git cat-file blob " + commit + ":" + path) == here, Status::invalid_argument,
            "{}: commit {} has it otherwise", path, commit);
}

int check(const CommittedReceipts& receipts) {
    std::vector<std::string> found = receipts.disagreements();
    std::ranges::move(receipts.storage_faults(), std::back_inserter(found));
    const raceline::GitHistory history(std::filesystem::current_path().string());
    if (history.missing().empty()) {
        for (auto& [place, what] : lines_unlike_their_files(receipts.index(), history)) {
            found.push_back(std::move(what));
        }
    } else {
        std::cout << "history not checked: " << history.missing() << '\n';
    }
    for (const std::string& one : found) {
        std::cout << one << '\n';
    }
    std::cout << receipts.manifest().size() << " files in the tree, " << receipts.index().size()
              << " left it, " << found.size() << " disagreements\n";
    return found.empty() ? 0 : 1;
}

void retire(CommittedReceipts& receipts, std::vector<std::string> files) {
    std::string commit = "HEAD";
    if (files.size() > 2 && files.front() == "--commit") {
        commit = files[1];
        files.erase(files.begin(), files.begin() + 2);
    }
    require_plain(commit);
    commit = output_of("git rev-parse --verify --quiet " + commit + "^{commit}");
    commit.pop_back();
    for (const std::string& file : files) {
        require_plain(file);
        require_in_commit(file, commit);
    }
    for (const std::string& file : files) {
        receipts.retire(file, commit);
        std::cout << file << " left the tree; " << commit << " has it\n";
    }
}

void restore(CommittedReceipts& receipts, const std::string& file) {
    require_plain(file);
    const auto line = std::ranges::find_if(
        receipts.index(), [&](const raceline::Json& one) { return one.at("path") == file; });
    require(line != receipts.index().end(), Status::invalid_argument,
            "{}: not in the index, so it cannot come back", file);
    const auto commit = line->at("commit").get<std::string>();
    require_plain(commit);
    receipts.restore(file, output_of("git cat-file blob " + commit + ":" + file));
    std::cout << file << " is back from " << commit << '\n';
}

void seal(CommittedReceipts& receipts) {
    if (std::filesystem::exists(raceline::index_file)) {
        require_in_commit(raceline::index_file, "HEAD");
    }
    std::cout << receipts.seal() << " lines moved to " << raceline::sealed_index_file << '\n';
}

int usage() {
    std::cerr << "usage: receipt_index check | manifest [FILE...] | compress FILE... | "
                 "retire [--commit C] FILE... | restore FILE... | seal\n";
    return 2;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) {
        return usage();
    }
    const std::vector<std::string> files(words.begin() + 1, words.end());
    CommittedReceipts receipts(std::filesystem::current_path().string());
    if (words[0] == "check" && files.empty()) {
        return check(receipts);
    }
    if (words[0] == "manifest") {
        for (const std::string& path : receipts.update_manifest(files)) {
            if (!raceline::may_change(path) && raceline::plain_name(path) == path) {
                receipts.compress(path);
            }
            std::cout << path << " is in the manifest\n";
        }
        return check(receipts);
    }
    if (words[0] == "retire" && !files.empty()) {
        retire(receipts, files);
        return 0;
    }
    if (words[0] == "seal" && files.empty()) {
        seal(receipts);
        return 0;
    }
    if (words[0] == "compress" && !files.empty()) {
        for (const std::string& file : files) {
            receipts.compress(file);
            std::cout << file << " is compressed\n";
        }
        return 0;
    }
    if (words[0] == "restore" && !files.empty()) {
        for (const std::string& file : files) {
            restore(receipts, file);
        }
        return 0;
    }
    return usage();
} catch (const std::exception& e) {
    std::cerr << "receipt_index: " << e.what() << '\n';
    return 1;
}
