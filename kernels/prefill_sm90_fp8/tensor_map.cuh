// SPDX-License-Identifier: Apache-2.0
// Tensor maps for the copy engine, built on the host.
#pragma once

#include <cstdint>
#include <cuda.h>

#include "workload/attention_args.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

struct TensorExtent {
    std::int64_t headdim, seqlen, heads, batch;
};

/// The copy engine can read the tensor: its address and its strides are multiples of 16 bytes, no
/// stride is 0 or from 2^40 bytes on.
bool can_map(const TensorArg& tensor, const TensorExtent& extent);

/// Dimensions (column, token, head, sequence) of one byte an element; boxes of `columns` (64 or
/// 128) and `rows` tokens, swizzled over as many bytes, zeros outside. Every extent is at least 1.
/// Throws Error(internal) if the driver refuses. Enqueues nothing, so that it may run while a
/// stream is being captured.
CUtensorMap make_tensor_map(const char* name, const TensorArg& tensor, const TensorExtent& extent,
                            int columns, int rows);

}  // namespace raceline::kernels::prefill_sm90_fp8
