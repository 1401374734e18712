// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/registry.hpp"
#include "support/json.hpp"

namespace raceline {

/// Whether the code that a row is about has changed since: by its machine code, if the row and this
/// build have it for the same architecture by the same compiler; else by the kernel's source.
bool is_stale(const Json& row, const Kernel& kernel);

}  // namespace raceline
