// SPDX-License-Identifier: Apache-2.0
#include "receipt/git_history.hpp"

#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>
#include <set>
#include <sstream>
#include <utility>

#include "support/subprocess.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

// Takes the next object off what `git cat-file --batch` answered: "HASH blob SIZE\n", its bytes and
// "\n"; of a name that it does not know one line, "NAME missing".
std::optional<std::string_view> next_blob(std::string_view& answer) {
    const std::size_t end = answer.find('\n');
    std::istringstream header{std::string(answer.substr(0, end))};
    answer.remove_prefix(end == std::string_view::npos ? answer.size() : end + 1);
    std::string hash;
    std::string type;
    std::size_t size = 0;
    const bool three_words = (header >> hash >> type >> size) && header.peek() == EOF;
    // A name may have words, too, but never without its colon.
    if (!three_words || hash.find(':') != std::string::npos || size >= answer.size()) {
        return std::nullopt;
    }
    const std::string_view content = answer.substr(0, size);
    answer.remove_prefix(size + 1);
    return type == "blob" ? std::optional(content) : std::nullopt;
}

}  // namespace

GitHistory::GitHistory(std::string folder) : folder_(std::move(folder)) {
    const auto shallow = git({"rev-parse", "--is-shallow-repository"});
    if (!shallow) {
        missing_ = "git is not installed, or knows no repository here";
        return;
    }
    if (*shallow != "false\n") {
        missing_ = "the clone is shallow; `git fetch --unshallow` brings the rest";
    }
    std::istringstream in(git({"log", "--all", "HEAD", "--format=%H %ct"}).value_or(""));
    for (std::string commit, seconds; in >> commit >> seconds;) {
        dates_[commit] = utc_time(std::strtoll(seconds.c_str(), nullptr, 10));
    }
    if (dates_.empty()) {
        missing_ = "the repository has no commit";
    }
}

std::optional<std::string> GitHistory::date_of(std::string_view commit) const {
    const auto found = dates_.find(commit);
    return found == dates_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> GitHistory::lines_ever_in(const std::string& path) const {
    // A merge may take one side and drop the other's lines: --full-history goes both ways. What a
    // merge itself adds is seen against each parent (-m).
    const auto changes =
        git({"log", "HEAD", "--full-history", "-m", "-p", "--unified=0", "--no-renames",
             "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--format=", "--", path});
    std::set<std::string> lines;
    std::istringstream in(changes.value_or(""));
    for (std::string line; std::getline(in, line);) {
        // Lines are JSON objects: "+++ b/path" is none.
        if (line.starts_with("+{")) {
            lines.insert(line.substr(1));
        }
    }
    return {lines.begin(), lines.end()};
}

std::string GitHistory::file_before(const std::string& path, int commits) const {
    return git({"cat-file", "blob", "HEAD~" + std::to_string(commits) + ":./" + path}).value_or("");
}

void GitHistory::read_files(std::span<const FileInCommit> files, const Take& take) const {
    std::string names;
    for (const auto& [commit, path] : files) {
        const std::string name = fmt::format("{}:./{}", commit, path);
        // One name a line: one that would be two is asked for as none.
        names += (name.find('\n') == std::string::npos ? name : "") + '\n';
    }
    const std::string answer = git({"cat-file", "--batch"}, names).value_or("");
    std::string_view rest = answer;
    for (std::size_t i = 0; i < files.size(); ++i) {
        take(i, next_blob(rest));
    }
}

std::optional<std::string> GitHistory::git(std::vector<std::string> words,
                                           std::string_view input) const {
    // A user's settings must not change what is asked for.
    std::vector<std::string> command{"git", "--no-replace-objects",   "-C", folder_,
                                     "-c",  "log.follow=false",       "-c", "log.showRoot=true",
                                     "-c",  "log.showSignature=false"};
    command.insert(command.end(), words.begin(), words.end());
    return output_of(command, input);
}

}  // namespace raceline
