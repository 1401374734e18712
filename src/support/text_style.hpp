// SPDX-License-Identifier: Apache-2.0
// How text for a person is laid out: how wide it may be, and whether it has colours. Whoever prints
// it says so; nothing here asks a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

struct TextStyle {
    std::size_t columns = 0;  ///< of a line; 0: as many as it takes
    bool colour = false;
};

/// What a piece of text is to its reader, which decides its colour.
enum class Ink : std::int32_t { plain, heading, limiter, good, bad, hint };

/// The text between the terminal's codes for its ink; without colour, or plain, the text itself.
std::string inked(std::string_view text, Ink ink, const TextStyle& style);

/// Columns that a text takes in a terminal: two for a wide character, as of East Asian scripts,
/// none for an accent that stands on another, else one a code point. It must hold no codes of a
/// terminal.
std::size_t text_width(std::string_view text);

/// The text in lines of at most `columns`: broken at a space, which is left out, in long words
/// behind a comma, semicolon or slash, in names behind an underscore, and anywhere where there is
/// none of these. 0 columns: one line. With `whole_paths` a word that begins as a path does (`/`,
/// `./`, `~/`) is never broken: it stands in a line of its own where it is too long for the rest of
/// one, so that it can be copied.
std::vector<std::string> broken_lines(std::string_view text, std::size_t columns,
                                      bool whole_paths = false);

/// A paragraph in lines of the style's width, those behind the first one indented by `indent`, each
/// with its end. Paths stay whole.
std::string paragraph(std::string_view text, const TextStyle& style, std::size_t indent = 2);

}  // namespace raceline
