// SPDX-License-Identifier: Apache-2.0
// Which rows one call of a program wrote.
#pragma once

#include <map>
#include <span>
#include <string>

#include "support/json.hpp"

namespace raceline {

/// Rows of one program run have the same of these.
std::string run_of(const Json& row);

/// When each run of these rows began, by run_of: its first row's `written`.
std::map<std::string, std::string> starts_of_runs(std::span<const Json> rows);

}  // namespace raceline
