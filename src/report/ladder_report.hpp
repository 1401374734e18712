// SPDX-License-Identifier: Apache-2.0
// docs/ladder.md: what each rung changed, what was predicted, what was measured, and the verdict.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace raceline {

/// Markdown from the rungs' records, ladder/lessons.md and receipt rows of the suites `ladder` and
/// `from-scratch`, in any order. First sight counts; the last run stands beside. A device without
/// rows is not shown; without any rows the rungs are listed as not run.
std::string ladder_markdown(std::span<const Json> rows);

}  // namespace raceline
