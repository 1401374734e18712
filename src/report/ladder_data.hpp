// SPDX-License-Identifier: Apache-2.0
// What the tables of docs/ladder.md are made of besides records: data files of ladder/, compiled
// in, and receipt rows in the order of time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/kernel.hpp"
#include "support/json.hpp"

namespace raceline {

/// Content of an embedded file, "" if there is none of that name.
std::string_view ladder_file(std::string_view path);
/// The same as JSON; an empty array if there is none.
Json ladder_data(std::string_view path);

/// What stands under `## name` in ladder/lessons.md, "" if there is no such heading.
std::string ladder_lesson(std::string_view name);

/// Rows of a kind, the earliest first; of two written at once the first in `rows` comes first.
std::vector<const Json*> by_time(std::span<const Json> rows, std::string_view kind);

/// The median of a measurement row in seconds; 0 if the gate refused it, or if it is unsettled and
/// counts for nothing.
double settled_seconds(const Json& measurement_row);

/// The kernel of this name, null if this build has none.
const Kernel* find_rung_or_engine(std::string_view name);

}  // namespace raceline
