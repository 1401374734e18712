// SPDX-License-Identifier: Apache-2.0
// What may stand at the cursor of a command line that is being written. Scripts of shells ask the
// program for it, so that they know no command, option or name themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace raceline::cli {

/// Whether the words are what a script asks: `raceline __complete LINE`.
bool asks_for_completion(int argc, const char* const* argv);

/// The answer: a line for each word that may stand where LINE ends, with a tab and what it means
/// behind some; ":files" where a file belongs, and nothing where nobody knows. Never throws.
std::string completions_text(const CLI::App& app, int argc, const char* const* argv);

/// The words of a line, as a shell splits them, the last one perhaps empty.
std::vector<std::string> words_of_line(const std::string& line);

/// The types of values that options may have (CLI::Option::get_type_name), beside lists of words
/// with '|' between them.
std::vector<std::string> known_types();

/// The shells that there are scripts for.
std::vector<std::string> shells();

}  // namespace raceline::cli
