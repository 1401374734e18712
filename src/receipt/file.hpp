// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// Reads every whole row of a file, plain or compressed. Throws as stored_text() does: Error(io) if
/// the file cannot be opened.
ReceiptFile read_receipts(const std::string& path);

/// The same of text in memory; never throws for its content.
ReceiptFile parse_receipts(std::string_view text);

/// What `report --check` says of one file: bad lines, chain, hashes, row form, times, schema,
/// pairs. Empty: all holds. The chain runs over the valid rows: where a row became unreadable, it
/// breaks at the next. An unfinished last line is no finding: the next writer cuts it.
std::vector<BadLine> check_receipts(const ReceiptFile& file);

/// Of these bad lines, hashes and chain alone: rows that are not as they were written.
std::vector<BadLine> check_chain(const ReceiptFile& file);

/// Lines of predictions that no later row answers: a measurement or comparison that names it, or a
/// row of the same case that names none, as refusals do. A run that was cut off leaves one at most.
std::vector<std::size_t> unanswered_predictions(const ReceiptFile& file);

/// Appends rows to one file, one write(2) a row, holding an advisory lock, chained by `prev`.
/// Opening an existing file cuts an unfinished last line (`repaired` says so) and continues its
/// chain from the last valid row as it stands, also where an earlier line is corrupt. Directories
/// are created. Throws Error(io) naming path and cause; on a full disk the part written of the row
/// is cut off again, so that no row is half-written. A file that holds something else than receipts
/// is refused with Error(corrupt), one of schema 1 with Error(invalid_argument), and both are left
/// alone; so is a compressed file, and a name that ends in .gz. Several processes may append to one
/// file, each through a writer of its own; one writer serves one thread at a time.
class ReceiptWriter {
public:
    explicit ReceiptWriter(const std::string& path);
    ~ReceiptWriter();
    ReceiptWriter(ReceiptWriter&&) noexcept;
    ReceiptWriter& operator=(ReceiptWriter&&) noexcept;

    /// Adds prev and hash, appends; returns the row as written. A row that validate_row refuses
    /// throws Error(invalid_argument) and is not written.
    Json append(Json row);

    [[nodiscard]] const std::string& path() const;
    /// Bytes of unfinished lines that were cut, of others' killed while this one was open too.
    [[nodiscard]] std::size_t repaired() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// $XDG_STATE_HOME/raceline/<date>T<time>-<what>-<commit>.jsonl (~/.local/state without the
/// variable), the default of --receipts. Time is UTC; `what` is reduced to letters, digits and -._
std::string default_receipt_path(std::string_view what);

}  // namespace raceline
