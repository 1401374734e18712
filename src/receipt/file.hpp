// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace raceline {

/// A line that is not a valid row. Reading goes on after it.
struct BadLine {
    std::size_t line = 0;  ///< counted from 1
    std::string reason;
};

struct ReceiptFile {
    std::vector<Json> rows;
    std::vector<std::size_t> lines;  ///< line number of each row
    std::vector<BadLine> bad;
    bool unfinished = false;  ///< the last line has no newline: a writer was killed; not a row
};

/// Reads every whole row. Throws Error(io) if the file cannot be opened.
ReceiptFile read_receipts(const std::string& path);

/// What `report --check` says of one file: chain, hashes, row form, pairs. Empty: all holds.
std::vector<BadLine> check_receipts(const ReceiptFile& file);

/// Appends rows to one file, one write(2) a row, holding an advisory lock, chained by `prev`.
/// Opening an existing file cuts an unfinished last line (`repaired` says so) and continues its
/// chain. Directories are created. Throws Error(io) naming path and cause; on a full disk the
/// part written of the row is cut off again, so that no row is half-written.
class ReceiptWriter {
public:
    explicit ReceiptWriter(const std::string& path);
    ~ReceiptWriter();
    ReceiptWriter(ReceiptWriter&&) noexcept;
    ReceiptWriter& operator=(ReceiptWriter&&) noexcept;

    /// Adds prev and hash, appends; returns the row as written.
    Json append(Json row);

    [[nodiscard]] const std::string& path() const;
    /// Bytes of an unfinished line that were cut when the file was opened; 0: none.
    [[nodiscard]] std::size_t repaired() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// $XDG_STATE_HOME/raceline/<date>-<what>-<commit>.jsonl, the default of --receipts.
std::string default_receipt_path(std::string_view what);

}  // namespace raceline
