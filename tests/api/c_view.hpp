// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "raceline/raceline.h"
#include "tests/api/workload_call.hpp"

namespace raceline::tests {

/// A view as C describes it.
inline rl_tensor c_view(const TensorView& view) {
    rl_tensor tensor = RL_INIT(rl_tensor);
    tensor.data = view.data;
    tensor.dtype = static_cast<std::int32_t>(view.dtype);
    tensor.rank = static_cast<std::int32_t>(view.shape.size());
    std::copy(view.shape.begin(), view.shape.end(), tensor.shape);
    std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
    return tensor;
}

/// The C arguments of a decode call without options and scales.
struct CDecodeCall {
    explicit CDecodeCall(const DecodeArgs& given)
        : q(c_view(given.q)),
          k(c_view(given.k_cache)),
          v(c_view(given.v_cache)),
          out(c_view(given.out)) {
        args.q = &q;
        args.k_cache = &k;
        args.v_cache = &v;
        args.out = &out;
        args.seqlens_k = given.seqlens_k;
        args.max_seqlen_k = given.max_seqlen_k;
        args.block_table = given.block_table;
        args.block_table_stride = given.block_table_stride;
        args.tree = given.tree;
        args.cu_seqlens_q = given.cu_seqlens_q;
        args.cu_seqlens_count = given.cu_seqlens_count;
        args.max_seqlen_q = given.max_seqlen_q;
    }
    CDecodeCall(const CDecodeCall&) = delete;
    CDecodeCall& operator=(const CDecodeCall&) = delete;
    ~CDecodeCall() = default;

    rl_tensor q, k, v, out;
    rl_decode_args args = RL_INIT(rl_decode_args);
};

}  // namespace raceline::tests
