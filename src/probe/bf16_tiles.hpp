// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::probe {

/// TDPBF16PS on four independent sums, `rounds` × 64 of each. Returns the flops done. Only where
/// `may_use_bf16_tiles`.
double bf16_tiles(std::uint64_t rounds);

}  // namespace raceline::probe
