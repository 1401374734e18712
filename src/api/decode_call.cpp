// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "api/call.hpp"
#include "api/packed_queries.hpp"
#include "api/refusal.hpp"
#include "support/check.hpp"
#include "support/rounding.hpp"

namespace raceline::api {
namespace {

void check_types(const DecodeArgs& args) {
    check_compute_dtype(args.q);
    check_dtype("out", args.out, args.q.dtype, "q");
    check_dtype("v_cache", args.v_cache, args.k_cache.dtype, "k_cache");
    require(args.k_cache.dtype == args.q.dtype || args.k_cache.dtype == DType::e4m3, bad,
            "k_cache has dtype {}; caches have q's, {}, or e4m3", name_of(args.k_cache.dtype),
            name_of(args.q.dtype));
    require(
        (args.k_scale == nullptr && args.v_scale == nullptr) || args.k_cache.dtype == DType::e4m3,
        bad, "k_scale or v_scale is given for {} caches; only e4m3 caches have scales",
        name_of(args.k_cache.dtype));
}

bool is_given(const TensorView& view) {
    return !view.shape.empty() || view.data != nullptr;
}

MemoryRange check_token_scale(std::string_view name, const TensorView& view,
                              const TensorView& cache, bool paged, Pointers pointers) {
    if (!is_given(view)) {
        return {};
    }
    const MemoryRange memory = check_strided(name, view, 3, pointers);
    require(view.dtype == DType::fp32, bad, "{} has dtype {}; scales are fp32", name,
            name_of(view.dtype));
    check_shape(name, view, {cache.shape[0], cache.shape[1], cache.shape[2]},
                paged ? "(pages, page_size, heads_kv)" : "(batch, capacity, heads_kv)");
    return memory;
}

struct TokenScaleMemory {
    MemoryRange k, v;
};
TokenScaleMemory check_token_scales(const DecodeArgs& args, Workload& w, Pointers pointers) {
    const bool given = is_given(args.k_token_scale);
    require(given == is_given(args.v_token_scale), bad,
            "{} is given without {}; a cache has scales of tokens for keys and for values",
            given ? "k_token_scale" : "v_token_scale", given ? "v_token_scale" : "k_token_scale");
    if (!given) {
        return {};
    }
    require(args.k_cache.dtype == DType::e4m3, bad,
            "k_token_scale is given for {} caches; only e4m3 caches have scales",
            name_of(args.k_cache.dtype));
    require(!w.mla, bad,
            "k_token_scale is given for a latent cache, which has one scale a sequence");
    w.scale_of = ScaleOf::token;
    const bool paged = args.block_table != nullptr;
    return {check_token_scale("k_token_scale", args.k_token_scale, args.k_cache, paged, pointers),
            check_token_scale("v_token_scale", args.v_token_scale, args.v_cache, paged, pointers)};
}

// Caches as pages or one row a sequence; max_seqlen_k must fit into either.
void check_caches(const DecodeArgs& args, Workload& w) {
    const auto& cache = args.k_cache.shape;
    const bool paged = args.block_table != nullptr;
    require(args.max_seqlen_k >= 0 && args.max_seqlen_k <= longest_sequence, bad,
            "max_seqlen_k is {}; a length must be 0 to {}", args.max_seqlen_k, longest_sequence);
    if (paged) {
        require(cache[1] >= 1, bad, "k_cache has pages of {} tokens; a page holds at least 1",
                cache[1]);
        w.page_size = cache[1];
        // Divided, not multiplied: a stride near the type's end must not overflow.
        const std::int64_t pages = divide_up(args.max_seqlen_k, cache[1]);
        require(args.block_table_stride >= pages, bad,
                "block_table_stride is {}; max_seqlen_k {} needs {} pages of {} tokens a sequence",
                args.block_table_stride, args.max_seqlen_k, pages, cache[1]);
        check_shape("k_cache", args.k_cache, {cache[0], cache[1], w.heads_kv, w.headdim},
                    "(pages, page_size, heads_kv, headdim)");
        check_shape("v_cache", args.v_cache, {cache[0], cache[1], w.heads_kv, w.headdim_v},
                    "(pages, page_size, heads_kv, headdim_v)");
    } else {
        require(args.max_seqlen_k <= cache[1], bad,
                "max_seqlen_k is {}; k_cache holds {} tokens a sequence", args.max_seqlen_k,
                cache[1]);
        check_shape("k_cache", args.k_cache, {w.batch, cache[1], w.heads_kv, w.headdim},
                    "(batch, capacity, heads_kv, headdim)");
        check_shape("v_cache", args.v_cache, {w.batch, cache[1], w.heads_kv, w.headdim_v},
                    "(batch, capacity, heads_kv, headdim_v)");
    }
    w.seqlen_k = args.max_seqlen_k;
}

void read_sizes(const DecodeArgs& args, Workload& w) {
    const bool packed = is_packed(args);
    const std::size_t heads = packed ? 1 : 2;
    w.heads_q = args.q.shape[heads];
    w.headdim = args.q.shape[heads + 1];
    if (packed) {
        read_packed_sizes(args, w);
    } else {
        w.batch = args.q.shape[0];
        w.seqlen_q = args.q.shape[1];
    }
    w.heads_kv = args.k_cache.shape[2];
    w.headdim_v = args.v_cache.shape[3];
    w.dtype = args.q.dtype;
    w.kv_dtype = args.k_cache.dtype;
}

void check_queries(const DecodeArgs& args, const Workload& w) {
    if (is_packed(args)) {
        check_outputs(args.out, args.lse, {args.q.shape[0], w.heads_q, w.headdim_v},
                      "(total, heads_q, headdim_v)", "(total, heads_q)");
    } else {
        check_outputs(args.out, args.lse, {w.batch, w.seqlen_q, w.heads_q, w.headdim_v},
                      "(batch, seqlen_q, heads_q, headdim_v)", "(batch, seqlen_q, heads_q)");
    }
}

// A call's numbers where the host can read them: those of a GPU in `copy`.
template <class T>
std::span<const T> on_host(const T* numbers, std::size_t count, const Execution& execution,
                           std::vector<T>& copy) {
    if (execution.place != Place::cuda) {
        return {numbers, count};
    }
    copy.resize(count);
    read_device_memory(copy.data(), numbers, count * sizeof(T), execution.stream);
    return copy;
}

// Used lengths, as a host copy: those of the call or, without any, max_seqlen_k for all.
std::vector<std::int32_t> host_lengths(const DecodeArgs& args, const Execution& execution,
                                       const Workload& w) {
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(w.batch),
                                      static_cast<std::int32_t>(w.seqlen_k));
    if (args.seqlens_k != nullptr && !lengths.empty()) {
        std::vector<std::int32_t> copy;
        std::ranges::copy(on_host(args.seqlens_k, lengths.size(), execution, copy),
                          lengths.begin());
    }
    return lengths;
}

// The sums of a packed q, and the words of a tree, which its tokens must have bits for.
void check_tokens(const DecodeArgs& args, const Execution& execution, const Workload& w) {
    std::vector<std::int64_t> lengths;
    if (is_packed(args)) {
        std::vector<std::int32_t> copy;
        lengths = read_query_lengths(
            args, on_host(args.cu_seqlens_q, static_cast<std::size_t>(args.cu_seqlens_count),
                          execution, copy));
    }
    if (args.tree == nullptr) {
        return;
    }
    std::vector<std::uint32_t> copy;
    const auto words =
        on_host(args.tree, static_cast<std::size_t>(tokens_of(args)), execution, copy);
    if (is_packed(args)) {
        check_packed_tree(words, lengths);
    } else {
        check_tree(words, w.seqlen_q);
    }
}

// Of a table whose rows may be slices of longer ones: up to the last that a sequence can use.
std::int64_t table_entries(const DecodeArgs& args, const Workload& w) {
    return w.page_size == 0 || w.batch == 0
               ? 0
               : (w.batch - 1) * args.block_table_stride + divide_up(w.seqlen_k, w.page_size);
}

// Checked mode: what only the data can tell.
void check_data(const DecodeArgs& args, const Execution& execution, const Workload& w) {
    const std::vector<std::int32_t> lengths = host_lengths(args, execution, w);
    check_lengths(lengths, w.seqlen_k);
    if (w.page_size == 0) {
        return;
    }
    std::vector<std::int32_t> copy;
    const auto count = static_cast<std::size_t>(table_entries(args, w));
    check_pages(lengths, on_host(args.block_table, count, execution, copy), args.block_table_stride,
                w.page_size, args.k_cache.shape[0]);
}

void check_memory(const DecodeArgs& args, const Execution& execution, Call& call,
                  const MemoryRange& q, const MemoryRange& k, const MemoryRange& v,
                  const TokenScaleMemory& scales) {
    const Workload& w = call.workload;
    const auto optional = [](std::string_view name, const void* data, std::int64_t count) {
        return data == nullptr ? MemoryRange{} : check_array(name, data, count, 4);
    };
    std::int64_t entries = 0;
    require(!__builtin_mul_overflow(w.batch, args.block_table_stride, &entries), bad,
            "block_table_stride is {}; the table would be larger than memory can be",
            args.block_table_stride);
    const MemoryRange sinks = optional("sinks", args.options.sinks, w.heads_q);
    const MemoryRange lengths = optional("seqlens_k", args.seqlens_k, w.batch);
    const MemoryRange table = optional("block_table", args.block_table, table_entries(args, w));
    const MemoryRange k_scale = optional("k_scale", args.k_scale, w.batch * w.heads_kv);
    const MemoryRange v_scale = optional("v_scale", args.v_scale, w.batch * w.heads_kv);
    const MemoryRange tree = optional("tree", args.tree, tokens_of(args));
    const MemoryRange sums = check_array("cu_seqlens_q", args.cu_seqlens_q, args.cu_seqlens_count,
                                         sizeof(*args.cu_seqlens_q));
    call.read = {q, k, v, sinks, lengths, table, k_scale, v_scale, scales.k, scales.v, tree, sums};
    check_outputs_apart(call);
    if (execution.place == Place::cpu && args.seqlens_k != nullptr) {
        check_lengths({args.seqlens_k, static_cast<std::size_t>(w.batch)}, w.seqlen_k);
    }
    if (execution.place == Place::cpu || args.options.checked) {
        check_tokens(args, execution, w);
    }
    if (args.options.checked) {
        check_data(args, execution, w);
    }
}

void fill_arguments(const DecodeArgs& args, Call& call) {
    const bool packed = is_packed(args);
    AttentionCall& a = call.args;
    a.q = argument_of(args.q, !packed);
    a.k = argument_of(args.k_cache, true);
    a.v = argument_of(args.v_cache, true);
    a.out = argument_of(args.out, !packed);
    a.cu_seqlens_q = args.cu_seqlens_q;
    a.tokens_q = packed ? args.q.shape[0] : 0;
    a.seqlens_k = args.seqlens_k;
    a.block_table = args.block_table;
    a.block_table_stride = args.block_table == nullptr ? 0 : args.block_table_stride;
    a.k_scale = args.k_scale;
    a.v_scale = args.v_scale;
    a.tree = args.tree;
    const auto scale = [](const TensorView& view) {
        return is_given(view)
                   ? ScaleArg{static_cast<const float*>(view.data), kernel_stride(view, 0),
                              kernel_stride(view, 1), kernel_stride(view, 2)}
                   : ScaleArg{};
    };
    a.k_token_scale = scale(args.k_token_scale);
    a.v_token_scale = scale(args.v_token_scale);
    apply_lse(args.lse, !packed, a);
}

}  // namespace

Call check_decode(const DecodeArgs& args, const Execution& execution, Pointers pointers) {
    check_packing(args);
    const std::size_t rank = is_packed(args) ? 3 : 4;
    const MemoryRange q = check_view("q", args.q, rank, pointers);
    const MemoryRange k = check_view("k_cache", args.k_cache, 4, pointers);
    const MemoryRange v = check_view("v_cache", args.v_cache, 4, pointers);
    Call call;
    std::tie(call.out, call.lse) = check_results(args.out, args.lse, rank, pointers);
    check_types(args);
    Workload& w = call.workload;
    read_sizes(args, w);
    check_heads(w);
    check_caches(args, w);
    check_queries(args, w);
    // One latent cache read once: V is a prefix of K's columns.
    w.mla = args.k_cache.data != nullptr && args.v_cache.data == args.k_cache.data &&
            args.v_cache.strides == args.k_cache.strides && w.heads_kv == 1 &&
            w.headdim_v <= w.headdim;
    const TokenScaleMemory scales = check_token_scales(args, w, pointers);
    // What each token sees is in the caller's memory, perhaps on a device: for plans and
    // predictions drawn trees stand in its place.
    w.tree = args.tree != nullptr ? 1 : 0;
    apply_options(args.options, call);
    apply_sizes(call);
    fill_arguments(args, call);
    if (pointers == Pointers::needed) {
        check_memory(args, execution, call, q, k, v, scales);
    }
    return call;
}

}  // namespace raceline::api
