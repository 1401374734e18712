// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <string>

namespace raceline {

/// "7.5" of a compute capability that is written as 75.
inline std::string capability_text(int capability) {
    return fmt::format("{}.{}", capability / 10, capability % 10);
}

}  // namespace raceline
