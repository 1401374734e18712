// SPDX-License-Identifier: Apache-2.0
// What one row says that cannot be, seen without any other row.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"

namespace raceline {

/// A sentence for each contradiction within a valid row: a verdict that passed although an error is
/// over its bound, an interval that its median lies outside of, `unsettled` against the interval, a
/// comparison without a verdict on both sides or whose ratio is not that of its times, a ceiling
/// above its arithmetic limit, an operation or a pass that is not its workload's. Empty: none.
std::vector<std::string> contradictions_of_row(const Json& row);

}  // namespace raceline
