// SPDX-License-Identifier: Apache-2.0
// The names of resources (device.hpp), to tell a rate that a user gives from a slip of the pen.
#pragma once

#include "receipt/values.hpp"

namespace raceline {

/// Throws Error(invalid_argument) for a ceiling of a resource that no device has, in another unit
/// than the resource's, or of a size that no machine's has. Rows that stand beside rates in
/// receipts, as those of products and capacities, pass.
void check_given_ceiling(const Ceiling& ceiling);

}  // namespace raceline
