// SPDX-License-Identifier: Apache-2.0
// Tables of docs/ladder.md from rows of kind `ceiling` that scripts of bench/ wrote: memory that
// was really allocated, and the products that a decode in 8 bits is held against.
#pragma once

#include <span>
#include <string>

#include "support/json.hpp"

namespace raceline {

/// Peak memory of calls and tokens of cache that fit, by bench/capacity.py; "" without rows.
std::string memory_markdown(std::span<const Json> rows);

/// e4m3 products by bench/e4m3_sweep.py, with the share of the measured tensor and DRAM ceilings of
/// their device; "" without rows.
std::string products_markdown(std::span<const Json> rows);

}  // namespace raceline
