// SPDX-License-Identifier: Apache-2.0
// How good the predictions of a table's cases were.
#pragma once

#include <span>
#include <string>

#include "report/case_table.hpp"

namespace raceline {

/// Errors of predictions as a table, a line for each kernel, class of sight and regime of measured
/// times; nothing is pooled over these, since what one of them reaches says nothing of another.
/// Cases without a settled time or a prediction are left out; without any it is empty.
std::string accuracy_text(std::span<const CaseLine> lines, const TextStyle& style = {});

}  // namespace raceline
