// SPDX-License-Identifier: Apache-2.0
#include "workload/problem.hpp"

namespace raceline {

Band Problem::band() const {
    return {static_cast<std::int32_t>(seqlen_q), static_cast<std::int32_t>(seqlen_k),
            static_cast<std::int32_t>(window.left), static_cast<std::int32_t>(window.right)};
}

// What both say by the same names.
template <class Call>
static Problem sizes_of(const Call& call) {
    return {.batch = call.batch,
            .heads_q = call.heads_q,
            .heads_kv = call.heads_kv,
            .seqlen_q = call.seqlen_q,
            .seqlen_k = call.seqlen_k,
            .headdim = call.headdim,
            .headdim_v = call.headdim_v,
            .window = {},
            .ragged = false,
            .shared_kv = false,
            .page_size = call.page_size};
}

Problem problem_of(const Workload& w) {
    Problem p = sizes_of(w);
    p.window = folded_window(w);
    p.ragged = w.ragged();
    p.shared_kv = w.mla;
    return p;
}

Band band_of(const Workload& w, const Band& longest, std::int64_t b) {
    return {static_cast<std::int32_t>(w.length_q(b)), static_cast<std::int32_t>(w.length_k(b)),
            longest.left, longest.right};
}

Problem problem_of(const AttentionArgs& a) {
    Problem p = sizes_of(a);
    p.window = {a.window_left, a.window_right};
    p.ragged = a.cu_seqlens_q != nullptr || a.cu_seqlens_k != nullptr || a.seqlens_k != nullptr;
    p.shared_kv = a.k.data == a.v.data && a.k.batch_stride == a.v.batch_stride &&
                  a.k.seq_stride == a.v.seq_stride && a.k.head_stride == a.v.head_stride;
    return p;
}

}  // namespace raceline
