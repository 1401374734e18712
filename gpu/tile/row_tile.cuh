// SPDX-License-Identifier: Apache-2.0
// Who reads and writes what, where a CTA has neighbouring query rows of one head: plain attention,
// without grouped heads, pages or windows. `Args` is AttentionArgs, `Tensor` one of its tensors.
#pragma once

#include <cmath>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace raceline::gpu {

/// An element as a float.
inline __device__ float to_float(float x) {
    return x;
}
inline __device__ float to_float(__half x) {
    return __half2float(x);
}
/// A float as an element, rounded to nearest.
inline __device__ void store(float* to, float x) {
    *to = x;
}
inline __device__ void store(__half* to, float x) {
    *to = __float2half_rn(x);
}

/// A head of one sequence.
struct Head {
    int head, batch;

    /// The head's row of token `at`.
    template <class T, class Tensor>
    __device__ T* token(const Tensor& t, int at) const {
        return static_cast<T*>(t.data) + batch * t.batch_stride + at * t.seq_stride +
               head * t.head_stride;
    }
    /// Where a query's log-sum-exp goes, if it is wanted.
    template <class Args>
    __device__ float& lse(const Args& a, int query) const {
        return a
            .lse[batch * a.lse_batch_stride + query * a.lse_seq_stride + head * a.lse_head_stride];
    }
};

/// One of the query rows of all heads.
struct QueryRow : Head {
    int query;
    int keys;  ///< it sees these: all, or up to its own place, counted from both sequences' ends

    template <class Args, class Index>
    __device__ QueryRow(const Args& a, Index row) {
        query = static_cast<int>(row % a.seqlen_q);
        head = static_cast<int>(row / a.seqlen_q % a.heads_q);
        batch = static_cast<int>(row / a.seqlen_q / a.heads_q);
        keys = a.window_right < 0 ? a.seqlen_k
                                  : min(a.seqlen_k, max(0, query + 1 + a.seqlen_k - a.seqlen_q));
    }
};

/// A tile of neighbouring query rows of one head; blockIdx.x counts the tiles of all heads.
struct RowTile : Head {
    int first;  ///< query

    template <class Args>
    __device__ RowTile(const Args& a, int rows) {
        const int tiles = (a.seqlen_q + rows - 1) / rows;
        const int block = static_cast<int>(blockIdx.x);
        first = block % tiles * rows;
        head = block / tiles % a.heads_q;
        batch = block / tiles / a.heads_q;
    }
    /// Keys that a query sees: all, or up to its own place, counted from both sequences' ends.
    template <class Args>
    __device__ int keys(const Args& a, int query) const {
        const int beyond = a.window_right < 0 ? a.seqlen_k : a.seqlen_k - a.seqlen_q + 1;
        return min(a.seqlen_k, max(0, query + beyond));
    }
    /// Of the tile's last query, which sees most.
    template <class Args>
    __device__ int most_keys(const Args& a, int rows) const {
        return keys(a, min(first + rows, a.seqlen_q) - 1);
    }
};

}  // namespace raceline::gpu
