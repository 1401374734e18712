// SPDX-License-Identifier: Apache-2.0
// The seam between the launch and the device code, one translation unit for each width of V.
#pragma once

#include <cstdint>

#include "kernels/simt/params.hpp"

namespace raceline::kernels::simt {

/// Enqueues the kernel compiled for this width; `stream` is a cudaStream_t.
template <int v_width>
void launch_width(int tile, const Params& params, std::int64_t ctas, std::int64_t smem_bytes,
                  void* stream);

/// Enqueues the merge of `params.splits` partial answers.
void launch_merge(const Params& params, void* stream);

}  // namespace raceline::kernels::simt
