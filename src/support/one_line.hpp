// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// The text as one line of valid UTF-8: control characters and bytes that are no UTF-8 are written
/// as \xNN. For sentences that quote what came from outside.
std::string one_line(std::string_view text);

}  // namespace raceline
