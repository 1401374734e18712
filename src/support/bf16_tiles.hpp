// SPDX-License-Identifier: Apache-2.0
// Intel's Advanced Matrix Extensions (AMX): products of tiles of bf16.
#pragma once

namespace raceline {

/// Whether this CPU multiplies tiles of bf16 and the operating system lets this process do it.
/// Asked for once; the answer holds for all threads.
bool may_use_bf16_tiles();

/// What is multiplied at a time: 16 rows of 32 elements by 32 rows of 16, into 16 x 16 floats.
constexpr int bf16_tile_rows = 16;
constexpr int bf16_tile_depth = 32;
constexpr double bf16_tile_flops = 2.0 * bf16_tile_rows * bf16_tile_rows * bf16_tile_depth;

}  // namespace raceline
