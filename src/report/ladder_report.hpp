// SPDX-License-Identifier: Apache-2.0
// docs/ladder.md: what each rung changed, what was predicted, what was measured, and the verdict.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "receipt/past_measurement.hpp"
#include "support/json.hpp"

namespace raceline {

/// Markdown from the rungs' records, ladder/lessons.md and receipt rows of the suites `ladder` and
/// `from-scratch`, in any order. First sight counts; the last run stands beside. A device without
/// rows is not shown; without any rows the rungs are listed as not run. `left`: what the index
/// keeps of files that left the work tree; a first sight among these still counts as such.
std::string ladder_markdown(std::span<const Json> rows, std::span<const PastFile> left = {});

}  // namespace raceline
