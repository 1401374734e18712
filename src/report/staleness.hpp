// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/json.hpp"

namespace raceline {

/// Whether the source of the kernel that a row is about is no longer that of this build; of a
/// kernel that has left it is true. Pages ask this, not is_stale: whichever build writes them, with
/// the machine code of a GPU or without, they must say the same.
bool source_has_changed_since(const Json& row);

}  // namespace raceline
