// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::probe {

/// 16 lanes, each two products and two additions.
constexpr int dot_bf16_flops_per_instruction = 64;

/// Whether this CPU has AVX-512 BF16.
bool has_dot_bf16();

/// VDPBF16PS on 20 independent chains, `rounds` × 64 of each. Returns the flops done. Only where
/// `has_dot_bf16`.
double dot_bf16(std::uint64_t rounds);

}  // namespace raceline::probe
