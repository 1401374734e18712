// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// Writes a file, or replaces one and keeps its permissions. Throws Error(io) naming it where that
/// fails; an old file is then as it was.
void write_whole_file(const std::string& file, std::string_view content);

}  // namespace raceline
