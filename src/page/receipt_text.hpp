// SPDX-License-Identifier: Apache-2.0
// Receipt files as a page carries them: the text of every line as it stands, and what is wrong with
// it.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "receipt/file.hpp"
#include "support/json.hpp"

namespace raceline {

struct RowPlace {
    std::size_t file = 0, line = 0;  ///< file: its number on the page; line: from 1
};

/// Lines of a file, one after the other, and where they begin among those of a block.
struct TextPiece {
    std::size_t file = 0, first_line = 1, lines = 0, block = 0, offset = 0;
};

class ReceiptText {
public:
    /// Reads a file, unless it was added before. Lines that are no rows, and rows that are not as
    /// they were written, become findings of the file; the latter are in `rows()` no more, nor are
    /// copies of rows that another file has. Throws Error(io) for a file that
    /// cannot be opened.
    void add(const std::string& path);

    /// Sound rows of all files.
    [[nodiscard]] const std::vector<Json>& rows() const { return rows_; }
    /// Where a row stands, by its id; of a copy the first one.
    [[nodiscard]] const std::map<std::string, RowPlace>& places() const { return places_; }
    /// The lines of all files: those of small ones share a block, so that they compress together.
    [[nodiscard]] const std::vector<std::vector<std::string>>& blocks() const { return blocks_; }
    [[nodiscard]] const std::vector<TextPiece>& pieces() const { return pieces_; }
    /// [{path, rows, copies, lines, unfinished, findings: [[line, what]]}]
    [[nodiscard]] const Json& files() const { return files_; }

private:
    void cut(std::size_t file, const std::string& text);
    std::set<std::string> known_;  // files, by their canonical path
    std::vector<Json> rows_;
    std::map<std::string, RowPlace> places_;
    std::vector<std::vector<std::string>> blocks_;  // lines
    std::size_t bytes_ = 0;                         // of the last block
    std::vector<TextPiece> pieces_;
    Json files_ = Json::array();
};

/// [file, line], null where the id is unknown or empty.
Json place_json(const ReceiptText& text, const std::string& id);

}  // namespace raceline
