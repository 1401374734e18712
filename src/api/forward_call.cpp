// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "api/call.hpp"
#include "api/packed_queries.hpp"
#include "api/refusal.hpp"
#include "support/check.hpp"
#include "support/rounding.hpp"

namespace raceline::api {
namespace {

void check_bound(std::string_view name, std::int64_t bound) {
    require(bound >= 0 && bound <= longest_sequence, bad, "{} is {}; a length must be 0 to {}",
            name, bound, longest_sequence);
}

void check_longest(std::string_view sums, std::int64_t longest, std::string_view name,
                   std::int64_t bound) {
    require(bound == 0 || longest <= bound, bad, "{} is {}; {} has a sequence of {}", name, bound,
            sums, longest);
}

// Lengths that the device alone knows: of those with such a sum and bound, the most even ones of
// which one is as long as it may be.
std::int64_t lengths_within(std::string_view name, std::int64_t bound, std::string_view tensor,
                            std::int64_t total, std::int64_t batch,
                            std::vector<std::int64_t>& lengths) {
    require(total <= longest_sequence, bad, "{} has {} tokens; prefix sums count up to {}", tensor,
            total, longest_sequence);
    const std::int64_t longest = bound == 0 ? total : std::min(bound, total);
    require(batch > 0 || total == 0, bad, "{} has {} tokens, but there are no sequences", tensor,
            total);
    require(batch == 0 || divide_up(total, batch) <= longest, bad,
            "{} is {}; the {} tokens of {} need a longer one in {} sequences", name, bound, total,
            tensor, batch);
    lengths.reserve(static_cast<std::size_t>(batch));
    for (std::int64_t b = 0, left = total; b < batch; ++b) {
        const std::int64_t length = b == 0 ? longest : divide_up(left, batch - b);
        lengths.push_back(length);
        left -= length;
    }
    return longest;
}

void read_device_lengths(const ForwardArgs& args, Place place, Pointers pointers, Call& call) {
    require(place == Place::cuda || pointers == Pointers::ignored, bad,
            "cu_seqlens_q and cu_seqlens_k are empty; a ragged call on a CPU needs them");
    constexpr std::int64_t most = 1'000'001;  // validate takes as many sequences
    require(args.device_cu_seqlens_count >= 1 && args.device_cu_seqlens_count <= most, bad,
            "device_cu_seqlens_count is {}; it must be batch + 1, at most {}",
            args.device_cu_seqlens_count, most);
    Workload& w = call.workload;
    w.batch = args.device_cu_seqlens_count - 1;
    w.seqlen_q = lengths_within("max_seqlen_q", args.max_seqlen_q, "q", args.q.shape[0], w.batch,
                                w.seqlens_q);
    w.seqlen_k = lengths_within("max_seqlen_k", args.max_seqlen_k, "k", args.k.shape[0], w.batch,
                                w.seqlens_k);
}

void read_host_lengths(const ForwardArgs& args, Call& call) {
    const auto& sums_q = args.cu_seqlens_q;
    const auto& sums_k = args.cu_seqlens_k;
    require(sums_q.size() == sums_k.size(), bad,
            "cu_seqlens_q has {} entries and cu_seqlens_k has {}; both need batch + 1",
            sums_q.size(), sums_k.size());
    Workload& w = call.workload;
    w.batch = static_cast<std::int64_t>(sums_q.size()) - 1;
    w.seqlen_q = read_prefix_sums("cu_seqlens_q", sums_q, "q", args.q.shape[0], w.seqlens_q);
    w.seqlen_k = read_prefix_sums("cu_seqlens_k", sums_k, "k", args.k.shape[0], w.seqlens_k);
    check_longest("cu_seqlens_q", w.seqlen_q, "max_seqlen_q", args.max_seqlen_q);
    check_longest("cu_seqlens_k", w.seqlen_k, "max_seqlen_k", args.max_seqlen_k);
}

void read_lengths(const ForwardArgs& args, Place place, Pointers pointers, Call& call) {
    check_bound("max_seqlen_q", args.max_seqlen_q);
    check_bound("max_seqlen_k", args.max_seqlen_k);
    if (args.cu_seqlens_q.empty() && args.cu_seqlens_k.empty()) {
        read_device_lengths(args, place, pointers, call);
    } else {
        read_host_lengths(args, call);
    }
    const bool on_gpu = place == Place::cuda && pointers == Pointers::needed;
    require(!on_gpu || (args.device_cu_seqlens_q != nullptr && args.device_cu_seqlens_k != nullptr),
            bad,
            "device_cu_seqlens_q or device_cu_seqlens_k is null; a ragged call on a GPU needs the "
            "prefix sums on the device too");
    call.args.cu_seqlens_q = on_gpu ? args.device_cu_seqlens_q : args.cu_seqlens_q.data();
    call.args.cu_seqlens_k = on_gpu ? args.device_cu_seqlens_k : args.cu_seqlens_k.data();
    call.args.tokens_q = args.q.shape[0];
    call.args.tokens_k = args.k.shape[0];
}

void check_types(const ForwardArgs& args) {
    check_dtype("k", args.k, args.q.dtype, "q");
    check_dtype("v", args.v, args.q.dtype, "q");
    if (args.q.dtype == DType::e4m3) {
        require(args.out.dtype == DType::bf16, bad,
                "out has dtype {}; it must be bf16 where q, k and v are e4m3",
                name_of(args.out.dtype));
        return;
    }
    check_compute_dtype(args.q);
    check_dtype("out", args.out, args.q.dtype, "q");
    require(args.q_scale == nullptr && args.k_scale == nullptr && args.v_scale == nullptr, bad,
            "q_scale, k_scale or v_scale is given for {} tensors; only e4m3 has scales",
            name_of(args.q.dtype));
}

// Every range that the call reads lies apart from what it writes.
void check_memory(const ForwardArgs& args, Call& call, const MemoryRange& q, const MemoryRange& k,
                  const MemoryRange& v) {
    const Workload& w = call.workload;
    const auto optional = [](std::string_view name, const void* data, std::int64_t count) {
        return data == nullptr ? MemoryRange{} : check_array(name, data, count, 4);
    };
    const MemoryRange sinks = optional("sinks", args.options.sinks, w.heads_q);
    const MemoryRange q_scale = optional("q_scale", args.q_scale, w.batch * w.heads_kv);
    const MemoryRange k_scale = optional("k_scale", args.k_scale, w.batch * w.heads_kv);
    const MemoryRange v_scale = optional("v_scale", args.v_scale, w.batch * w.heads_kv);
    const bool ragged = call.args.cu_seqlens_q != nullptr;
    const MemoryRange sums_q =
        ragged ? optional("cu_seqlens_q", call.args.cu_seqlens_q, w.batch + 1) : MemoryRange{};
    const MemoryRange sums_k =
        ragged ? optional("cu_seqlens_k", call.args.cu_seqlens_k, w.batch + 1) : MemoryRange{};
    call.read = {q, k, v, sinks, q_scale, k_scale, v_scale, sums_q, sums_k};
    check_outputs_apart(call);
}

// The sizes that must agree, once q and k say what they are.
void check_shapes(const ForwardArgs& args, const Workload& w, bool ragged) {
    if (ragged) {
        const std::int64_t tokens_k = args.k.shape[0];
        check_shape("k", args.k, {tokens_k, w.heads_kv, w.headdim}, "(total_k, heads_kv, headdim)");
        check_shape("v", args.v, {tokens_k, w.heads_kv, w.headdim_v},
                    "(total_k, heads_kv, headdim_v)");
        check_outputs(args.out, args.lse, {args.q.shape[0], w.heads_q, w.headdim_v},
                      "(total_q, heads_q, headdim_v)", "(total_q, heads_q)");
        return;
    }
    check_shape("k", args.k, {w.batch, w.seqlen_k, w.heads_kv, w.headdim},
                "(batch, seqlen_k, heads_kv, headdim)");
    check_shape("v", args.v, {w.batch, w.seqlen_k, w.heads_kv, w.headdim_v},
                "(batch, seqlen_k, heads_kv, headdim_v)");
    check_outputs(args.out, args.lse, {w.batch, w.seqlen_q, w.heads_q, w.headdim_v},
                  "(batch, seqlen_q, heads_q, headdim_v)", "(batch, seqlen_q, heads_q)");
}

}  // namespace

Call check_forward(const ForwardArgs& args, Place place, Pointers pointers) {
    const bool ragged = !args.cu_seqlens_q.empty() || !args.cu_seqlens_k.empty() ||
                        args.device_cu_seqlens_count != 0;
    require(ragged || (args.max_seqlen_q == 0 && args.max_seqlen_k == 0), bad,
            "max_seqlen_q is {} and max_seqlen_k {} without prefix sums; they are for packed "
            "tensors",
            args.max_seqlen_q, args.max_seqlen_k);
    const std::size_t rank = ragged ? 3 : 4;
    const MemoryRange q = check_view("q", args.q, rank, pointers);
    const MemoryRange k = check_view("k", args.k, rank, pointers);
    const MemoryRange v = check_view("v", args.v, rank, pointers);
    Call call;
    std::tie(call.out, call.lse) = check_results(args.out, args.lse, rank, pointers);
    check_types(args);

    Workload& w = call.workload;
    const std::size_t seq = ragged ? 0 : 1;
    w.heads_q = args.q.shape[seq + 1];
    w.heads_kv = args.k.shape[seq + 1];
    w.headdim = args.q.shape[seq + 2];
    w.headdim_v = args.v.shape[seq + 2];
    w.dtype = args.q.dtype;
    w.kv_dtype = args.k.dtype;
    if (ragged) {
        read_lengths(args, place, pointers, call);
    } else {
        w.batch = args.q.shape[0];
        w.seqlen_q = args.q.shape[1];
        w.seqlen_k = args.k.shape[1];
    }
    check_heads(w);
    check_shapes(args, w, ragged);
    apply_options(args.options, call);
    apply_sizes(call);
    call.args.q = argument_of(args.q, !ragged);
    call.args.k = argument_of(args.k, !ragged);
    call.args.v = argument_of(args.v, !ragged);
    call.args.out = argument_of(args.out, !ragged);
    apply_lse(args.lse, !ragged, call.args);
    call.args.q_scale = args.q_scale;
    call.args.k_scale = args.k_scale;
    call.args.v_scale = args.v_scale;
    if (pointers == Pointers::needed) {
        check_memory(args, call, q, k, v);
    }
    return call;
}

}  // namespace raceline::api
