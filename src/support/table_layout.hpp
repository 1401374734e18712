// SPDX-License-Identifier: Apache-2.0
// How a table fits a width: which of its columns stand in it, how wide each is, and what becomes of
// cells that are too long.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/text_table.hpp"

namespace raceline {

struct TableLayout {
    struct Shown {
        std::size_t column = 0, width = 0;
    };
    std::vector<Shown> shown;            ///< in the order of the table
    std::vector<std::string> left_out;   ///< titles, in the order of the table
    std::vector<std::string> shortened;  ///< titles of columns of which cells lost something
    /// "title = cell" of columns whose cell is the same in all rows, and stands in none.
    std::vector<std::string> same;
};

/// For tables of `most` characters a line (0: as many as they take). Where one is wider, cells get
/// their shorter forms, what is the same in all rows is said once, sentences are broken, columns
/// leave by their priorities, and at last whatever text is widest is broken. `rows` keeps what is
/// shown of each cell.
TableLayout table_layout(const std::vector<TextTable::Column>& columns,
                         std::vector<std::vector<std::string>>& rows, std::size_t most);

}  // namespace raceline
