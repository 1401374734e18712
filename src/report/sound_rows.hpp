// SPDX-License-Identifier: Apache-2.0
// What every reader of receipts may count: rows that are as they were written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "receipt/file.hpp"

namespace raceline {

/// Said behind a number of rows, wherever they are counted.
inline constexpr std::string_view counted_once = "counted once: another file or line has the same";

struct SoundRows {
    std::vector<Json> rows;
    std::vector<std::size_t> lines;  ///< line number of each row
    /// Lines that are no rows.
    std::vector<BadLine> broken;
    /// Rows that check_chain refuses: changed, inserted, moved, or after one that was taken out.
    std::vector<BadLine> changed;
    /// The changed rows themselves, which count for nothing: whose they claim to be.
    std::vector<Json> changed_rows;
    bool unfinished = false;  ///< the last line is not whole
};

/// Keeps the rows of a file that its chain of hashes vouches for, and says which it does not.
SoundRows sound_rows_of(ReceiptFile file);

/// "12 rows left out that are not as they were written, in lines 3, 4, 5 and later: REASON"; the
/// first five lines by number, the reason of the first. Empty if there are none.
std::string changed_rows_text(const std::vector<BadLine>& changed);

}  // namespace raceline
