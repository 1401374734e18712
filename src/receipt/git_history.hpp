// SPDX-License-Identifier: Apache-2.0
// What git knows of the tree that receipts lie in. git is run as a program: a machine without it
// checks less, and says so.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

class GitHistory {
public:
    /// Of the repository that `folder` lies in.
    explicit GitHistory(std::string folder);

    /// Empty if every commit is at hand; else why not, as a clause: "the clone is shallow".
    [[nodiscard]] const std::string& missing() const { return missing_; }

    /// When a commit that some branch or tag has was made, in the form of a row's `written`;
    /// nothing if there is none of that name.
    [[nodiscard]] std::optional<std::string> date_of(std::string_view commit) const;

    /// Every line that any commit before HEAD ever gave the file, once, in no order. The path is
    /// from the folder.
    [[nodiscard]] std::vector<std::string> lines_ever_in(const std::string& path) const;

    /// What the file held so many commits before HEAD, by first parents; empty if it was not there.
    [[nodiscard]] std::string file_before(const std::string& path, int commits) const;

    /// Hands `take` what each file held, in the order of `files`; nothing where the commit has no
    /// such file, or there is no such commit. One git process for all. Paths are from the folder.
    struct FileInCommit {
        std::string commit, path;
    };
    using Take = std::function<void(std::size_t place, std::optional<std::string_view> content)>;
    void read_files(std::span<const FileInCommit> files, const Take& take) const;

private:
    [[nodiscard]] std::optional<std::string> git(std::vector<std::string> words,
                                                 std::string_view input = {}) const;
    std::string folder_;
    std::string missing_;
    std::map<std::string, std::string, std::less<>> dates_;  ///< by commit
};

}  // namespace raceline
