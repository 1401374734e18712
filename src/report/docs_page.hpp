// SPDX-License-Identifier: Apache-2.0
// Pages with generated parts. A part stands between two HTML comments, which a reader does not see:
//   <!-- raceline:begin KIND name=value ... -->text<!-- raceline:end -->
// A KIND that gives a table has its text on lines of its own; one that gives a figure stands in a
// sentence. After the kind `output` stands a command of the program instead of names and values.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// The kind of block that a command of the program fills; the command is its argument `command`.
inline constexpr std::string_view output_block = "output";

/// What a marker asks for.
struct DocsBlock {
    std::size_t line = 0;  ///< of its marker, counted from 1
    std::string text;      ///< the marker's words: KIND name=value ...
    std::string kind;
    std::map<std::string, std::string> arguments;

    /// Throws Error(invalid_argument) if the marker has no such argument.
    [[nodiscard]] const std::string& at(const std::string& name) const;
    /// Empty if the marker has no such argument.
    [[nodiscard]] std::string get(const std::string& name) const;
};

using DocsWriter = std::function<std::string(const DocsBlock&)>;

/// The page with each block as `write` gives it. Throws Error(invalid_argument) naming the line of
/// a marker that is not closed, not begun or stands in another block; what `write` throws, with the
/// line and the block before it.
std::string rewrite_page(std::string_view page, const DocsWriter& write);

struct DocsFault {
    std::size_t line = 0;
    std::string what;
};

/// Where the page is not what rewrite_page would make of it, block by block. Empty: it is.
std::vector<DocsFault> check_page(std::string_view page, const DocsWriter& write);

}  // namespace raceline
