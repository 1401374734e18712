// SPDX-License-Identifier: Apache-2.0
// Rows in columns, which compress better than rows do.
#pragma once

#include <span>
#include <string>

namespace raceline {

/// Lines as templates and columns of what differs between lines of one template: numbers, lists of
/// numbers and hashes. page/data.js puts them together again, byte for byte.
///
/// "c", templates, \x02, the number of each line's template, and \x02 with a column for each text
/// that stands before a gap, as `,"power_w":` does: values of one name are alike, whatever template
/// they are of. Columns come in the order in which templates name them. Templates and the values of
/// a column stand on lines; \x01 is a gap. A value of 12 letters and more that was there before is
/// "~" and how many such values ago. Lines that hold one of these two bytes stay as they are, after
/// "p".
std::string row_columns(std::span<const std::string> lines);

}  // namespace raceline
