// SPDX-License-Identifier: Apache-2.0
// What a launch of the operation `combine` reads out of its OperationArgs. A shape of the grammar
// has contiguous tensors and lists the first extents alone; a call of the public interface has
// strides.
#pragma once

#include <cstdint>

#include "workload/operation_args.hpp"

namespace raceline {

/// Elements from a part, a row and a head to the next.
struct CombineStrides {
    std::int64_t part = 0, row = 0, head = 0;
};

struct CombineCall {
    std::int64_t parts = 0, rows = 0, heads = 0, headdim = 0;
    const void* out_parts = nullptr;
    const float* lse_parts = nullptr;
    const float* sinks = nullptr;  ///< heads logits, or null
    void* out = nullptr;
    float* lse = nullptr;  ///< or null
    DType parts_dtype = DType::fp32, out_dtype = DType::fp32;
    CombineStrides of_out_parts, of_lse_parts, of_out, of_lse;  ///< of results no part
};

namespace combine_places {
enum Tensor : int { out_parts, lse_parts, sinks, out, lse };
/// Of extents: the fields of the grammar, whether strides follow, the strides.
enum Extent : int { parts, rows, heads, headdim, has_sinks, has_strides, strides };
}  // namespace combine_places

inline CombineCall combine_call_of(const OperationArgs& args) {
    namespace at = combine_places;
    const auto& n = args.extents;
    CombineCall c;
    c.parts = n[at::parts];
    c.rows = n[at::rows];
    c.heads = n[at::heads];
    c.headdim = n[at::headdim];
    c.out_parts = args.tensors[at::out_parts].data;
    c.lse_parts = static_cast<const float*>(args.tensors[at::lse_parts].data);
    c.sinks =
        n[at::has_sinks] == 0 ? nullptr : static_cast<const float*>(args.tensors[at::sinks].data);
    c.out = args.tensors[at::out].data;
    c.lse = static_cast<float*>(args.tensors[at::lse].data);
    c.parts_dtype = args.tensors[at::out_parts].dtype;
    c.out_dtype = args.tensors[at::out].dtype;
    const std::int64_t row = c.heads * c.headdim;
    c.of_out_parts = {c.rows * row, row, c.headdim};
    c.of_lse_parts = {c.rows * c.heads, c.heads, 1};
    c.of_out = {0, row, c.headdim};
    c.of_lse = {0, c.heads, 1};
    if (n[at::has_strides] != 0) {
        c.of_out_parts = {n[at::strides], n[at::strides + 1], n[at::strides + 2]};
        c.of_lse_parts = {n[at::strides + 3], n[at::strides + 4], n[at::strides + 5]};
        c.of_out = {0, n[at::strides + 6], n[at::strides + 7]};
        c.of_lse = {0, n[at::strides + 8], n[at::strides + 9]};
    }
    return c;
}

inline OperationArgs operation_args_of(const CombineCall& c) {
    namespace at = combine_places;
    OperationArgs args;
    args.dtype = c.parts_dtype;
    const std::int64_t rows = c.rows * c.heads;
    // Arguments name no const memory; kernels write to the last two alone.
    args.tensors[at::out_parts] = {const_cast<void*>(c.out_parts), c.parts * rows, c.headdim,
                                   c.parts_dtype};
    args.tensors[at::lse_parts] = {const_cast<float*>(c.lse_parts), c.parts, rows};
    args.tensors[at::sinks] = {const_cast<float*>(c.sinks), c.sinks != nullptr ? 1 : 0, c.heads};
    args.tensors[at::out] = {c.out, rows, c.headdim, c.out_dtype};
    args.tensors[at::lse] = {c.lse, rows, 1};
    args.extents = {c.parts,
                    c.rows,
                    c.heads,
                    c.headdim,
                    c.sinks != nullptr ? 1 : 0,
                    1,
                    c.of_out_parts.part,
                    c.of_out_parts.row,
                    c.of_out_parts.head,
                    c.of_lse_parts.part,
                    c.of_lse_parts.row,
                    c.of_lse_parts.head,
                    c.of_out.row,
                    c.of_out.head,
                    c.of_lse.row,
                    c.of_lse.head};
    return args;
}

}  // namespace raceline
