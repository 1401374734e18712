// SPDX-License-Identifier: Apache-2.0
// splitkv on a cache of pages: token i of a sequence is slot i % page_size of page
// table[i / page_size], and sequences have lengths of their own. Where a row lies is worked out
// once for K and V, by a shift and a mask, outside every loop over elements.
#pragma once

#include "ladder/decode/splitkv/splitkv.cuh"

namespace raceline::kernels::paged {

using namespace decode;

// Where the tokens of a sequence lie. A contiguous cache is one page as long as can be.
struct Pages {
    const std::int32_t* table;  // of this sequence; null: contiguous
    int batch, shift;           // shift: log2 of the page's tokens

    __device__ int page(int token) const {
        return table == nullptr ? batch : __ldg(table + (token >> shift));
    }
    __device__ int slot(int token) const { return token & ((1U << shift) - 1); }
};

template <class Index>
__device__ Pages pages_of(const AttentionArgs& a, Index batch) {
    return {a.block_table == nullptr ? nullptr : a.block_table + batch * a.block_table_stride,
            static_cast<int>(batch), a.page_size > 0 ? 31 - __clz(a.page_size) : 31};
}

template <class Index>
__device__ int length_of(const AttentionArgs& a, Index batch) {
    return a.seqlens_k == nullptr ? a.seqlen_k : a.seqlens_k[batch];
}

// A sequence's rows of K and V for one KV head.
template <class T>
struct Cache {
    struct Place {
        std::int64_t page, slot;
    };
    const AttentionArgs& a;
    const T *k, *v;
    Pages pages;
    int length;  // of the sequence

    __device__ Cache(const AttentionArgs& args, unsigned batch, std::int64_t head_kv)
        : a(args),
          k(static_cast<const T*>(a.k.data) + head_kv * a.k.head_stride),
          v(static_cast<const T*>(a.v.data) + head_kv * a.v.head_stride),
          pages(pages_of(a, batch)),
          length(length_of(a, batch)) {}
    __device__ Place place(int token) const { return {pages.page(token), pages.slot(token)}; }
    __device__ const T* k_at(Place at) const {
        return k + at.page * a.k.batch_stride + at.slot * static_cast<int>(a.k.seq_stride);
    }
    __device__ const T* v_at(Place at) const {
        return v + at.page * a.v.batch_stride + at.slot * static_cast<int>(a.v.seq_stride);
    }
};

}  // namespace raceline::kernels::paged
