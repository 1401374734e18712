// SPDX-License-Identifier: Apache-2.0
// Words of the command line that CLI11 would take in another way than written here, or refuse in
// more than one line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace raceline::cli {

/// A whole number in decimal digits from 0 to 2^64 - 1, or nothing.
std::optional<std::uint64_t> parse_whole(std::string_view text);

/// Adds an option that takes a whole number from `least` to `most` in decimal digits. CLI11 by
/// itself reads 010 as 8, and what is too large as the largest number that fits.
void add_whole(CLI::App& command, const std::string& name, const std::string& help,
               std::uint64_t least, std::uint64_t most,
               const std::function<void(std::uint64_t)>& take);

/// Adds an option that takes a number of seconds in a range; NaN is in none.
void add_seconds(CLI::App& command, const std::string& name, const std::string& help, double least,
                 double most, double& seconds);

/// Adds an option that takes one of some words, in capital letters or small ones.
void add_word(CLI::App& command, const std::string& name, const std::vector<std::string>& words,
              const std::string& help, std::string& word);

/// "none was given", "one was given", "3 were given".
std::string given_text(std::size_t count);

/// From now on every option of the command refuses an empty value: `--device "$UNSET"` means
/// something, and not the default.
void refuse_empty_values(CLI::App& command);

/// What is wrong with the words, and where to read what would be right, in one line without its
/// end.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace raceline::cli
