// SPDX-License-Identifier: Apache-2.0
// Inputs to the arguments of a launch.
#include <algorithm>
#include <limits>

#include "support/check.hpp"
#include "workload/inputs.hpp"
#include "workload/nvfp4.hpp"

namespace raceline {
namespace {

/// Contiguous (batch, seqlen, heads, width); `rows` tokens from one batch entry (or page) to the
/// next.
TensorArg tensor(void* data, std::int64_t rows, std::int64_t heads, std::int64_t width) {
    return {.data = data,
            .batch_stride = rows * heads * width,
            .seq_stride = heads * width,
            .head_stride = width};
}

}  // namespace

void set_sizes(AttentionArgs& args, const Workload& w) {
    args.batch = static_cast<std::int32_t>(w.batch);
    args.heads_q = static_cast<std::int32_t>(w.heads_q);
    args.heads_kv = static_cast<std::int32_t>(w.heads_kv);
    args.seqlen_q = static_cast<std::int32_t>(w.seqlen_q);
    args.seqlen_k = static_cast<std::int32_t>(w.seqlen_k);
    args.headdim = static_cast<std::int32_t>(w.headdim);
    args.headdim_v = static_cast<std::int32_t>(w.headdim_v);
    args.page_size = static_cast<std::int32_t>(w.page_size);
    args.scale = static_cast<float>(w.scale_value());
    // Engines multiply by the quotient: where no float is as small, tanh leaves scores as they are.
    const bool caps = w.scale_value() / w.softcap >= double{std::numeric_limits<float>::min()};
    args.softcap = w.softcap > 0 && caps ? static_cast<float>(w.softcap) : 0;
    const Window window = folded_window(w);
    args.window_left = static_cast<std::int32_t>(window.left);
    args.window_right = static_cast<std::int32_t>(window.right);
    args.dtype = w.dtype;
    args.kv_dtype = w.kv_dtype;
}

InputPointers pointers_into(const Inputs& in) {
    const auto data = [](const auto& list) { return list.empty() ? nullptr : list.data(); };
    // Kernels take the addresses of what they read and of what they write in one type.
    const auto bytes = [&](const std::vector<std::byte>& list) {
        return const_cast<std::byte*>(data(list));
    };
    return {.q = bytes(in.q),
            .k = bytes(in.k),
            .v = bytes(in.v),
            .sinks = data(in.sinks),
            .tree = data(in.tree),
            .cu_seqlens_q = data(in.cu_seqlens_q),
            .cu_seqlens_k = data(in.cu_seqlens_k),
            .seqlens_k = data(in.seqlens_k),
            .block_table = data(in.block_table),
            .k_scale = data(in.k_scale),
            .v_scale = data(in.v_scale),
            .q_scale = data(in.q_scale),
            .k_token_scale = data(in.k_token_scale),
            .v_token_scale = data(in.v_token_scale)};
}

AttentionCall make_args(const Workload& w, const Inputs& inputs, const InputPointers& at) {
    AttentionCall args;
    const std::int64_t slots = w.page_size != 0 ? w.page_size : w.seqlen_k;
    args.q = tensor(at.q, w.seqlen_q, w.heads_q, w.headdim);
    args.out = tensor(at.out, w.seqlen_q, w.heads_q, w.headdim_v);
    args.k = tensor(at.k, slots, w.heads_kv, w.headdim);
    args.v = w.mla ? args.k : tensor(at.v, slots, w.heads_kv, w.headdim_v);

    if (w.kv_dtype == DType::nvfp4) {
        args.k.batch_stride = Nvfp4Pages(w, w.heads_kv * w.headdim).elements;
        args.v.batch_stride =
            w.mla ? args.k.batch_stride : Nvfp4Pages(w, w.heads_kv * w.headdim_v).elements;
    }

    args.lse = at.lse;
    args.lse_batch_stride = w.seqlen_q * w.heads_q;
    args.lse_seq_stride = w.heads_q;
    args.lse_head_stride = 1;

    args.sinks = w.sinks ? at.sinks : nullptr;
    args.tree = w.tree != 0 ? at.tree : nullptr;
    args.cu_seqlens_q = inputs.cu_seqlens_q.empty() ? nullptr : at.cu_seqlens_q;
    args.cu_seqlens_k = inputs.cu_seqlens_k.empty() ? nullptr : at.cu_seqlens_k;
    args.seqlens_k = inputs.seqlens_k.empty() ? nullptr : at.seqlens_k;
    args.block_table = w.page_size != 0 ? at.block_table : nullptr;
    args.block_table_stride = inputs.block_table_stride;
    args.k_scale = inputs.k_scale.empty() ? nullptr : at.k_scale;
    args.v_scale = inputs.v_scale.empty() ? nullptr : at.v_scale;
    if (!inputs.k_token_scale.empty()) {
        require(at.k_token_scale != nullptr && at.v_token_scale != nullptr, Status::internal,
                "the inputs have scales of tokens, the launch has no addresses of them");
        const Inputs::ScaleStrides& s = inputs.scale_strides;
        args.k_token_scale = {at.k_token_scale, s.batch, s.token, s.head};
        args.v_token_scale = {at.v_token_scale, s.batch, s.token, s.head};
    }
    args.q_scale = inputs.q_scale.empty() ? nullptr : at.q_scale;

    args.tokens_q = args.cu_seqlens_q != nullptr ? w.tokens_q() : 0;
    args.tokens_k = args.cu_seqlens_k != nullptr ? w.tokens_k() : 0;
    set_sizes(args, w);
    return args;
}

}  // namespace raceline
