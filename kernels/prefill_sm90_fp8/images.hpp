// SPDX-License-Identifier: Apache-2.0
// V transposed once for all rows: where the blocks stand in the workspace. An image is a block of
// one KV head as shared memory is to have it, swizzle included, so that one plain copy fetches it;
// keys behind the sequence's end are zeros in it. Images of the KV heads of one block lie side by
// side; `place` counts blocks through all sequences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/tile/schedule.hpp"
#include "workload/attention_args.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Bytes of the workspace before the images: the counter that items are drawn from, and what is
/// left of a line of the L2.
inline constexpr std::size_t images_offset = 128;

/// A packed batch: the place of the first block of the sequence that begins at `token`. It follows
/// from what the device knows of that sequence alone, and leaves every sequence as many places as
/// it has blocks: one of n tokens comes at least floor(n / keys) + 1 before the next.
constexpr std::int32_t packed_place(std::int32_t token, std::int32_t sequence, std::int32_t keys) {
    return token / keys + sequence;
}
/// Sequences of one length.
constexpr std::int32_t equal_place(std::int32_t length, std::int32_t sequence, std::int32_t keys) {
    return sequence * ((length + keys - 1) / keys);
}

/// Places of all sequences, so many that every one has its blocks.
inline std::int64_t image_places(const AttentionArgs& a, std::int64_t keys) {
    return a.cu_seqlens_k != nullptr ? a.tokens_k / keys + a.batch
                                     : a.batch * gpu::divide_up(a.seqlen_k, keys);
}
inline std::int64_t image_places(const Workload& w, std::int64_t keys) {
    return !w.seqlens_k.empty() ? w.tokens_k() / keys + w.batch
                                : w.batch * gpu::divide_up(w.seqlen_k, keys);
}

}  // namespace raceline::kernels::prefill_sm90_fp8
