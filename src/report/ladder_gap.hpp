// SPDX-License-Identifier: Apache-2.0
// The gap table: from the best rung on CUDA cores to the fastest library, one thing at a time.
#pragma once

#include <span>
#include <string>

#include "support/json.hpp"

namespace raceline {

/// Markdown of the steps that ladder/gap.json names. Each is the fastest correct tile among its
/// measurements in suite `ladder-gap`, the last run of each; the library's time is that of its
/// comparison row in the same suite. A step is what adding its one thing to the one before gained,
/// both measured; where it changes more, the table says what. "" without rows.
std::string gap_markdown(std::span<const Json> rows);

}  // namespace raceline
