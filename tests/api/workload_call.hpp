// SPDX-License-Identifier: Apache-2.0
// A workload's seeded inputs as a user of the library would hold them, in one of several layouts,
// and the verdict of the gate on what a call leaves in the output.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "raceline/raceline.hpp"
#include "run/gate.hpp"
#include "support/check.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::tests {

/// Memory with guard elements around it, so that a write outside is seen.
class GuardedBytes {
public:
    explicit GuardedBytes(std::size_t size) : bytes_(size + 2 * guard, std::byte{0xff}) {}
    std::byte* data() { return bytes_.data() + guard; }
    [[nodiscard]] const std::byte* data() const { return bytes_.data() + guard; }
    [[nodiscard]] std::size_t size() const { return bytes_.size() - 2 * guard; }
    [[nodiscard]] bool untouched() const { return all_poison(0, bytes_.size()); }
    [[nodiscard]] bool guards_hold() const {
        return all_poison(0, guard) && all_poison(bytes_.size() - guard, bytes_.size());
    }

private:
    [[nodiscard]] bool all_poison(std::size_t first, std::size_t last) const {
        for (std::size_t i = first; i < last; ++i) {
            if (bytes_[i] != std::byte{0xff}) {
                return false;
            }
        }
        return true;
    }
    static constexpr std::size_t guard = 64;
    std::vector<std::byte> bytes_;
};

/// How the sizes of a tensor lie in memory.
enum class Layout {
    packed,      ///< (batch, seqlen, heads, headdim)
    heads_first  ///< (batch, heads, seqlen, headdim), each row padded by 8 elements
};

struct WorkloadCall {
    explicit WorkloadCall(const std::string& shape, Layout how = Layout::packed,
                          std::uint64_t seed = 7)
        : workload(parse_shape(shape, DType::fp32)),
          layout(how),
          inputs(make_inputs(workload, {.seed = seed})),
          q(arranged(inputs.q, workload.seqlen_q, workload.heads_q, workload.headdim,
                     workload.dtype)),
          k(arranged(inputs.k, workload.seqlen_k, workload.heads_kv, workload.headdim,
                     workload.kv_dtype)),
          v(workload.mla ? std::vector<std::byte>{}
                         : arranged(inputs.v, workload.seqlen_k, workload.heads_kv,
                                    workload.headdim_v, workload.kv_dtype)),
          out(arranged_size(inputs.out_elements, workload.headdim_v, workload.out_dtype())),
          lse(inputs.lse_elements * sizeof(float)) {
        // Garbage behind the last token, which kernels get from the gate, is refused by a call.
        std::size_t at = 0;
        for (std::int64_t b = 0; b < workload.batch && !inputs.tree.empty(); ++b) {
            for (std::int64_t i = 0; i < workload.length_q(b); ++i) {
                inputs.tree[at++] &= 0xFFFFFFFFU >> (32 - workload.length_q(b));
            }
        }
    }

    [[nodiscard]] AttentionOptions options() const {
        AttentionOptions o;
        o.causal = workload.mask == Mask::causal;
        if (workload.window) {
            o.window = std::pair(workload.window->left, workload.window->right);
        }
        o.scale = workload.scale;
        o.softcap = workload.softcap;
        o.sinks = workload.sinks ? inputs.sinks.data() : nullptr;
        return o;
    }

    ForwardArgs forward_args() {
        const Workload& w = workload;
        ForwardArgs args;
        if (w.ragged()) {
            // Where one side is fixed, the grammar leaves its prefix sums out.
            sums_q = prefix_sums(inputs.cu_seqlens_q, w.seqlen_q);
            sums_k = prefix_sums(inputs.cu_seqlens_k, w.seqlen_k);
            args.cu_seqlens_q = sums_q;
            args.cu_seqlens_k = sums_k;
        }
        set_queries(args, w.ragged());
        args.k =
            view(k.data(), w.kv_dtype, w.tokens_k(), w.seqlen_k, w.heads_kv, w.headdim, w.ragged());
        args.v = view(v.data(), w.kv_dtype, w.tokens_k(), w.seqlen_k, w.heads_kv, w.headdim_v,
                      w.ragged());
        const auto or_null = [](const auto& scales) {
            return scales.empty() ? nullptr : scales.data();
        };
        args.q_scale = or_null(inputs.q_scale);
        if (w.dtype == DType::e4m3) {
            args.k_scale = or_null(inputs.k_scale);
            args.v_scale = or_null(inputs.v_scale);
        }
        args.options = options();
        return args;
    }

    DecodeArgs decode_args() {
        const Workload& w = workload;
        DecodeArgs args;
        set_queries(args, !inputs.cu_seqlens_q.empty());
        if (!inputs.cu_seqlens_q.empty()) {
            args.cu_seqlens_q = inputs.cu_seqlens_q.data();
            args.cu_seqlens_count = w.batch + 1;
            args.max_seqlen_q = w.seqlen_q;
        }
        const std::int64_t slots = w.page_size != 0 ? w.page_size : w.seqlen_k;
        const auto rows =
            static_cast<std::int64_t>(static_cast<double>(inputs.k.size()) / bytes_of(w.kv_dtype) /
                                      static_cast<double>(w.heads_kv * w.headdim));
        args.k_cache = view(k.data(), w.kv_dtype, rows, slots, w.heads_kv, w.headdim);
        args.v_cache =
            w.mla ? args.k_cache : view(v.data(), w.kv_dtype, rows, slots, w.heads_kv, w.headdim_v);
        args.v_cache.shape[3] = w.headdim_v;
        args.seqlens_k = inputs.seqlens_k.empty() ? nullptr : inputs.seqlens_k.data();
        args.max_seqlen_k = w.seqlen_k;
        if (w.page_size != 0) {
            args.block_table = inputs.block_table.data();
            args.block_table_stride = inputs.block_table_stride;
        }
        args.k_scale = inputs.k_scale.empty() ? nullptr : inputs.k_scale.data();
        args.v_scale = inputs.v_scale.empty() ? nullptr : inputs.v_scale.data();
        if (w.has_token_scales()) {
            const auto scale = [&](std::vector<float>& from) {
                const Inputs::ScaleStrides& s = inputs.scale_strides;
                return TensorView{from.data(),
                                  DType::fp32,
                                  {args.k_cache.shape[0], args.k_cache.shape[1], w.heads_kv},
                                  {s.batch, s.token, s.head}};
            };
            args.k_token_scale = scale(inputs.k_token_scale);
            args.v_token_scale = scale(inputs.v_token_scale);
        }
        args.options = options();
        args.tree = inputs.tree.empty() ? nullptr : inputs.tree.data();
        return args;
    }

    /// What the gate says of the output; `precision` is that of the kernel which ran.
    [[nodiscard]] Correctness verdict(const Precision& precision) const {
        const std::vector<std::byte> packed_out = packed();
        std::vector<float> sums(inputs.lse_elements);
        std::memcpy(sums.data(), lse.data(), lse.size());
        return judge(workload, inputs, precision, packed_out, sums, 7);
    }

    Workload workload;
    Layout layout;
    Inputs inputs;
    std::vector<std::byte> q, k, v;
    GuardedBytes out, lse;
    std::vector<std::int32_t> sums_q, sums_k;

private:
    [[nodiscard]] std::int64_t pitch(std::int64_t width) const {
        return layout == Layout::packed ? width : width + 8;
    }
    [[nodiscard]] std::size_t arranged_size(std::size_t elements, std::int64_t width,
                                            DType dtype) const {
        return static_cast<std::size_t>(static_cast<double>(elements) / static_cast<double>(width) *
                                        static_cast<double>(pitch(width)) * bytes_of(dtype));
    }

    // Byte offset of a row in the layout, given its position in packed order.
    [[nodiscard]] std::size_t row_at(std::size_t row, std::int64_t seqlen, std::int64_t heads,
                                     std::int64_t width, DType dtype) const {
        const auto s = static_cast<std::size_t>(seqlen);
        const auto h = static_cast<std::size_t>(heads);
        if (layout == Layout::heads_first) {
            const std::size_t batch = row / (s * h);
            const std::size_t token = row / h % s;
            row = (batch * h + row % h) * s + token;
        }
        return row * static_cast<std::size_t>(pitch(width)) *
               static_cast<std::size_t>(bytes_of(dtype));
    }

    [[nodiscard]] std::vector<std::byte> arranged(const std::vector<std::byte>& from,
                                                  std::int64_t seqlen, std::int64_t heads,
                                                  std::int64_t width, DType dtype) const {
        if (layout == Layout::packed) {
            return from;
        }
        const auto line =
            static_cast<std::size_t>(width) * static_cast<std::size_t>(bytes_of(dtype));
        std::vector<std::byte> to(from.size() / line * static_cast<std::size_t>(pitch(width)) *
                                      static_cast<std::size_t>(bytes_of(dtype)),
                                  std::byte{0xff});
        for (std::size_t row = 0; row * line < from.size(); ++row) {
            std::memcpy(to.data() + row_at(row, seqlen, heads, width, dtype),
                        from.data() + row * line, line);
        }
        return to;
    }

    [[nodiscard]] std::vector<std::byte> packed() const {
        const Workload& w = workload;
        const auto line = static_cast<std::size_t>(w.headdim_v) *
                          static_cast<std::size_t>(bytes_of(w.out_dtype()));
        std::vector<std::byte> to(inputs.out_elements / static_cast<std::size_t>(w.headdim_v) *
                                  line);
        for (std::size_t row = 0; row * line < to.size(); ++row) {
            std::memcpy(to.data() + row * line,
                        out.data() + row_at(row, w.seqlen_q, w.heads_q, w.headdim_v, w.out_dtype()),
                        line);
        }
        return to;
    }

    template <class Args>
    void set_queries(Args& args, bool packed_tokens) {
        const Workload& w = workload;
        args.q =
            view(q.data(), w.dtype, w.tokens_q(), w.seqlen_q, w.heads_q, w.headdim, packed_tokens);
        args.out = view(out.data(), w.out_dtype(), w.tokens_q(), w.seqlen_q, w.heads_q, w.headdim_v,
                        packed_tokens);
        args.lse = lse_view(packed_tokens);
    }

    [[nodiscard]] TensorView view(void* data, DType dtype, std::int64_t tokens, std::int64_t seqlen,
                                  std::int64_t heads, std::int64_t width,
                                  bool packed_tokens = false) const {
        if (packed_tokens) {
            return TensorView::contiguous(data, dtype, {tokens, heads, width});
        }
        const std::int64_t batch = seqlen == 0 ? workload.batch : tokens / seqlen;
        TensorView whole = TensorView::contiguous(data, dtype, {batch, seqlen, heads, width});
        if (layout == Layout::heads_first) {
            const std::int64_t row = pitch(width);
            whole.strides = {heads * seqlen * row, row, seqlen * row, 1};
        }
        return whole;
    }

    TensorView lse_view(bool packed_tokens) {
        const Workload& w = workload;
        if (packed_tokens) {
            return TensorView::contiguous(lse.data(), DType::fp32, {w.tokens_q(), w.heads_q});
        }
        return TensorView::contiguous(lse.data(), DType::fp32, {w.batch, w.seqlen_q, w.heads_q});
    }

    [[nodiscard]] std::vector<std::int32_t> prefix_sums(const std::vector<std::int32_t>& given,
                                                        std::int64_t fixed) const {
        if (!given.empty()) {
            return given;
        }
        std::vector<std::int32_t> sums{0};
        for (std::int64_t b = 0; b < workload.batch; ++b) {
            sums.push_back(sums.back() + static_cast<std::int32_t>(fixed));
        }
        return sums;
    }
};

/// A workspace of exactly the bytes asked for, aligned, with the execution that names it.
class Workspace {
public:
    explicit Workspace(std::size_t bytes) : memory_(bytes + workspace_alignment, std::byte{0xff}) {
        void* start = memory_.data();
        std::size_t space = memory_.size();
        execution.workspace = std::align(workspace_alignment, bytes, start, space);
        execution.workspace_bytes = bytes;
    }
    Execution execution;

private:
    std::vector<std::byte> memory_;
};

inline void run(const ForwardArgs& args) {
    const Workspace workspace(forward_workspace(args, Place::cpu));
    forward(args, workspace.execution);
}

inline void run(const DecodeArgs& args) {
    const Workspace workspace(decode_workspace(args, Place::cpu));
    decode(args, workspace.execution);
}

}  // namespace raceline::tests
