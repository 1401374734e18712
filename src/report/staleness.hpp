// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/json.hpp"

namespace raceline {

/// Whether the code that a row is about is no longer the code of this build. Every report asks
/// here. Of a kernel that has left it is true.
bool code_has_changed_since(const Json& row);

}  // namespace raceline
