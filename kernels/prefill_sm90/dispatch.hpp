// SPDX-License-Identifier: Apache-2.0
// The seam between the launch and the device code, one translation unit a head dim and
// dtype.
#pragma once

#include "kernels/prefill_sm90/params.cuh"

namespace raceline::kernels::prefill_sm90 {

/// Enqueues the kernel compiled for this tile, which is one of this headdim, and one that
/// `caps` if capped; `stream` is a cudaStream_t.
template <int headdim, bool bf16, bool capped>
void launch_headdim(int tile, const Params& params, int ctas, void* stream);

}  // namespace raceline::kernels::prefill_sm90
