// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/registry.hpp"
#include "support/json.hpp"

namespace raceline {

/// Whether the code that a row is about has changed since: by its machine code, if the row and this
/// build have it for the same architecture by the same compiler; else by the kernel's source.
bool is_stale(const Json& row, const Kernel& kernel);

/// Whether the code of the kernel that a row is about has changed since: its source, and also what
/// docs/machine_code.json says its source is compiled to, if it knows both sources. Of a kernel
/// that has left it is true. Pages ask this, not is_stale: whichever build writes them, with the
/// machine code of a GPU or without, they must say the same.
bool code_has_changed_since(const Json& row);

/// One hash of all of a kernel's device code, as docs/machine_code.json has it; "" without any.
std::string machine_code_of(const Kernel& kernel);
/// What docs/machine_code.json says of a kernel's source; "" if it does not know it.
std::string remembered_machine_code(std::string_view kernel, std::string_view source_hash);

}  // namespace raceline
