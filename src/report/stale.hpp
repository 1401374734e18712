// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/registry.hpp"
#include "support/json.hpp"

namespace raceline {

/// Whether the code that a row is about has changed since: by its machine code, if the row and this
/// build have it for the same architecture by the same compiler; else by the kernel's source.
bool is_stale(const Json& row, const Kernel& kernel);

/// Whether the source of the kernel that a row is about is no longer that of this build; of a
/// kernel that has left it is true. Pages ask this, not is_stale: whichever build writes them, with
/// the machine code of a GPU or without, they must say the same.
bool source_has_changed_since(const Json& row);

}  // namespace raceline
