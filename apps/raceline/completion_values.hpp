// SPDX-License-Identifier: Apache-2.0
// What may stand where an option wants a value, by the type that its help names.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace raceline::cli {

/// Stands for a file, which the shell knows best.
inline constexpr std::string_view files = ":files";

/// What may stand somewhere, and what it means.
struct Offer {
    std::string text, meaning;
};
using Offers = std::vector<Offer>;

/// The line that is being written: the words behind the program's name, without the last one, which
/// is not finished.
struct UnfinishedLine {
    const CLI::App* app = nullptr;
    const CLI::App* command = nullptr;  ///< null: none was named
    std::vector<std::string> before;
    std::string word;

    /// The value that an option was given, or "".
    [[nodiscard]] std::string value_of(std::string_view option) const {
        const auto found = std::ranges::find(before, option);
        return found == before.end() || found + 1 == before.end() ? "" : *(found + 1);
    }
};

Offers commands_of(const UnfinishedLine& line);

/// What may stand as the option's value; nothing where nobody knows.
Offers values_of(const CLI::Option& option, const UnfinishedLine& line);

}  // namespace raceline::cli
