// SPDX-License-Identifier: Apache-2.0
// What git knows of the tree that receipts lie in. git is run as a program: a machine without it
// checks less, and says so.
#pragma once

#include <map>
#include <optional>
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

private:
    [[nodiscard]] std::optional<std::string> git(std::vector<std::string> words) const;
    std::string folder_;
    std::string missing_;
    std::map<std::string, std::string, std::less<>> dates_;  ///< by commit
};

}  // namespace raceline
