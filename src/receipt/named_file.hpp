// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace raceline {

/// Refuses in one sentence what a user named as a receipt file and is none: a device, or a file in
/// whose first MiB no line begins as a row does. Empty files and pipes pass, and what does not
/// exist: its reader says why it cannot be opened.
void require_receipts(const std::string& path);

}  // namespace raceline
