// SPDX-License-Identifier: Apache-2.0
// What the device code of simt gets: the arguments of the call and how it was cut up.
#pragma once

#include <cstdint>

#include "workload/attention_args.hpp"

namespace raceline::kernels::simt {

struct Params {
    AttentionArgs args;
    float* partial_out;  ///< (splits, total_rows, partial_width); null: one split, no merge
    float*
        partial_sums;  ///< (splits, total_rows, 2): maximum in units of log2, sum of exponentials
    std::int64_t total_rows;
    std::int32_t partial_width;
    std::int32_t row_tiles, splits, group;
    std::int32_t depth, pitch;  ///< of Q and K in shared memory
    std::int32_t page_shift;    ///< log2 of page_size, or -1 if it is no power of two
    bool shared_kv;
    bool chunked_q, chunked_k, chunked_v;  ///< rows can be read in aligned 16-byte pieces
    bool chunked_out;                      ///< four outputs can be written at once
};

}  // namespace raceline::kernels::simt
