// SPDX-License-Identifier: Apache-2.0
// What may stand where an option wants a value, by the type that its help names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace raceline::cli {

/// Stands for a file, which the shell knows best.
inline constexpr std::string_view any_file = ":files";

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

    /// The last value that an option was given, as `--option VALUE` or `--option=VALUE`, or "".
    [[nodiscard]] std::string value_of(std::string_view option) const {
        std::string value;
        for (std::size_t i = 0; i < before.size(); ++i) {
            const std::string_view one = before[i];
            if (one == option && i + 1 < before.size()) {
                value = before[i + 1];
            } else if (one.starts_with(option) && one.substr(option.size()).starts_with('=')) {
                value = one.substr(option.size() + 1);
            }
        }
        return value;
    }
};

Offers commands_of(const UnfinishedLine& line);

/// What may stand as the option's value; nothing where nobody knows.
Offers values_of(const CLI::Option& option, const UnfinishedLine& line);

}  // namespace raceline::cli
