// SPDX-License-Identifier: Apache-2.0
// Files by short names.
#pragma once

#include <string>
#include <vector>

namespace raceline {

/// Each path without its folders, but for as many as tell files of one name apart: "a/run.jsonl"
/// and "b/run.jsonl".
std::vector<std::string> short_names(const std::vector<std::string>& paths);

}  // namespace raceline
