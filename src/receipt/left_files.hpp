// SPDX-License-Identifier: Apache-2.0
// Lines of receipts/index.jsonl beside the files that they stand for, which git's history has.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "receipt/git_history.hpp"
#include "support/json.hpp"

namespace raceline {

struct WrongLine {
    std::size_t place = 0;  ///< in what was given, counted from 0
    std::string what;       ///< a sentence that names the file
};

/// Lines that say anything else than what `receipt_index retire` would write today of the file that
/// their commit has, and lines whose commit has no such file or is of no branch and no tag. Every
/// file is read and hashed: a second for some twenty megabytes.
std::vector<WrongLine> lines_unlike_their_files(std::span<const Json> lines,
                                                const GitHistory& history);

}  // namespace raceline
