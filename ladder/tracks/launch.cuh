// SPDX-License-Identifier: Apache-2.0
// How a rung's launches are chosen and enqueued.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <utility>

#include "registry/enqueue.cuh"
#include "support/rounding.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::tracks {

namespace {
extern __shared__ float4 dynamic_shared[];  ///< of the CTA
}

/// Blocks of `each` that hold so many elements.
inline unsigned blocks(std::int64_t elements, std::int64_t each) {
    return static_cast<unsigned>(divide_up(elements, each));
}
/// CTAs with `rows` query rows of one head each.
inline unsigned row_tiles(const AttentionArgs& a, int rows) {
    return blocks(a.seqlen_q, rows) * static_cast<unsigned>(a.heads_q * a.batch);
}

/// Calls `then` with the tile's index and the head dim, as constants, and an element of the dtype,
/// if there are query rows.
template <int tiles, class Then>
void with_instance(const AttentionArgs& a, int tile, const Then& then) {
    if (row_tiles(a, 1) == 0) {
        return;
    }
    [&]<int... index>(std::integer_sequence<int, index...>) {
        with_value<index...>(tile, [&](auto chosen) {
            with_value<64, 128>(a.headdim, [&](auto headdim) {
                a.dtype == DType::fp16 ? then(chosen, headdim, __half{})
                                       : then(chosen, headdim, 0.F);
            });
        });
    }(std::make_integer_sequence<int, tiles>());
}

/// Code, and the threads of the CTAs that it is for.
struct RowsCode {
    void (*code)(AttentionArgs);
    int threads;
};

/// Enqueues what `code_of` gives for the tile's index, the head dim and an element of the dtype: a
/// CTA for every `rows` query rows of every head, which has Shared<rows, headdim>.
template <const auto& tiles, template <int, int> class Shared, class CodeOf>
void launch_rows(const char* who, const AttentionArgs& a, int tile, void* stream,
                 const CodeOf& code_of) {
    with_instance<tiles.size()>(a, tile, [&](auto index, auto headdim, auto element) {
        constexpr int rows = tiles[index].rows;
        const RowsCode its = code_of(index, headdim, element);
        enqueue(who, its.code,
                {row_tiles(a, rows), its.threads, sizeof(Shared<rows, headdim>), stream}, a);
    });
}

}  // namespace raceline::kernels::tracks
