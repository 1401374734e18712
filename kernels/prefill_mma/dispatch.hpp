// SPDX-License-Identifier: Apache-2.0
// The seam between the launch and the device code, one translation unit a head dim and dtype.
#pragma once

#include "kernels/prefill_mma/params.hpp"

namespace raceline::kernels::prefill_mma {

/// Enqueues the kernel compiled for this tile, which is one of this headdim; `stream` is a
/// cudaStream_t.
template <int headdim, bool bf16>
void launch_headdim(int tile, const Params& params, int ctas, void* stream);

}  // namespace raceline::kernels::prefill_mma
