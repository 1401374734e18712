// SPDX-License-Identifier: Apache-2.0
#include "receipt/git_history.hpp"

#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "support/subprocess.hpp"
#include "support/time.hpp"

namespace raceline {

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

std::optional<std::string> GitHistory::git(std::vector<std::string> words) const {
    // A user's settings must not change what is asked for.
    std::vector<std::string> command{"git", "--no-replace-objects",   "-C", folder_,
                                     "-c",  "log.follow=false",       "-c", "log.showRoot=true",
                                     "-c",  "log.showSignature=false"};
    command.insert(command.end(), words.begin(), words.end());
    return output_of(command);
}

}  // namespace raceline
