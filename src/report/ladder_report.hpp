// SPDX-License-Identifier: Apache-2.0
// docs/ladder.md: what each rung changed, what was predicted, what was measured, and the verdict.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace raceline {

/// Markdown from the rungs' records, ladder/lessons.md and receipt rows, in any order. Of the
/// suites `ladder` and `from-scratch`; where a case was run more than once with one tile the last
/// run counts, where with several tiles the one that was predicted to be the fastest. A device
/// without rows is not shown; without any rows the rungs are listed as not run.
std::string ladder_markdown(std::span<const Json> rows);

}  // namespace raceline
