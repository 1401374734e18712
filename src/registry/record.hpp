// SPDX-License-Identifier: Apache-2.0
// What a file needs that defines a kernel's record: the record, and the types that its functions
// take and return. Device code needs the record's names alone (registry/kernel.hpp).
#pragma once

#include "device/device.hpp"    // IWYU pragma: export
#include "model/counts.hpp"     // IWYU pragma: export
#include "registry/kernel.hpp"  // IWYU pragma: export
