// SPDX-License-Identifier: Apache-2.0
// The rules that every workload obeys, whoever wrote it: command line, receipt or API call.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "support/check.hpp"
#include "support/float_range.hpp"
#include "workload/operation_shape.hpp"
#include "workload/seen_keys.hpp"
#include "workload/workload.hpp"

namespace raceline {
namespace {

constexpr auto invalid = Status::invalid_argument;
// Lengths are int32 in every kernel and prefix sum; the others keep products inside int64.
constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t largest_batch = 1'000'000;
constexpr std::int64_t most_heads = 65'536;
constexpr std::int64_t widest_head = 1024;
constexpr std::int64_t largest_page = 1 << 20;

void within(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
    require(value >= low && value <= high, invalid, "{} is {}: it must be {} to {}", field, value,
            low, high);
}

void check_lengths(std::string_view field, const std::vector<std::int64_t>& lengths,
                   std::int64_t longest_given, std::int64_t batch) {
    within(field, longest_given, 0, longest);
    if (lengths.empty()) {
        return;
    }
    require(static_cast<std::int64_t>(lengths.size()) == batch, invalid,
            "{} has {} ragged lengths for batch {}: give one a sequence", field, lengths.size(),
            batch);
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        require(lengths[b] >= 0 && lengths[b] <= longest, invalid,
                "{} of sequence {} is {}: it must be 0 to {}", field, b, lengths[b], longest);
    }
    const std::int64_t found = *std::max_element(lengths.begin(), lengths.end());
    require(found == longest_given, invalid, "{} is {} but its longest sequence has {}", field,
            longest_given, found);
}

void check_heads(const Workload& w) {
    within("heads_q", w.heads_q, 1, most_heads);
    within("heads_kv", w.heads_kv, 1, most_heads);
    require(w.heads_q % w.heads_kv == 0, invalid,
            "heads_q {} is not a multiple of heads_kv {}: every KV head serves the same number of "
            "query heads",
            w.heads_q, w.heads_kv);
    within("headdim", w.headdim, 1, widest_head);
    within("headdim_v", w.headdim_v, 1, widest_head);
    require(!w.mla || w.heads_kv == 1, invalid,
            "heads_kv is {} with MLA: the one latent cache has 1 KV head", w.heads_kv);
    require(!w.mla || w.headdim_v <= w.headdim, invalid,
            "headdim_v {} exceeds headdim {} with MLA: V is the first columns of K", w.headdim_v,
            w.headdim);
}

void check_types(const Workload& w) {
    require(w.dtype != DType::nvfp4, invalid,
            "dtype nvfp4 is a cache format: q takes fp32, fp16, bf16 or e4m3");
    require(w.kv_dtype == w.dtype || w.kv_dtype == DType::e4m3 || w.kv_dtype == DType::nvfp4,
            invalid, "kv_dtype {} beside dtype {}: the cache has q's type, e4m3 or nvfp4",
            name_of(w.kv_dtype), name_of(w.dtype));
    require(w.kv_dtype != DType::nvfp4 || (w.headdim % 16 == 0 && w.headdim_v % 16 == 0), invalid,
            "head dims {}/{} with an nvfp4 cache: they must be multiples of its block of 16",
            w.headdim, w.headdim_v);
}

void check_scales(const Workload& w) {
    require(
        !w.has_token_scales() || (w.kv_dtype == DType::e4m3 && w.dtype != DType::e4m3), invalid,
        "scales=token with dtype {} and a cache in {}: only e4m3 caches beside queries of other "
        "types have a scale a token",
        name_of(w.dtype), name_of(w.kv_dtype));
    require(!w.has_token_scales() || !w.mla, invalid,
            "scales=token with mla: a latent cache has one scale a sequence");
}

void check_softmax(const Workload& w) {
    if (w.window) {
        within("window's left side", w.window->left, -1, longest);
        within("window's right side", w.window->right, -1, longest);
    }
    require(w.softcap == 0 || is_positive_float(w.softcap), invalid,
            "softcap is {}: it must be a float32 of 0 or more; 0: none", w.softcap);
    // Engines multiply by this quotient.
    require(w.softcap == 0 || w.scale_value() / w.softcap <= std::numeric_limits<float>::max(),
            invalid, "softcap is {}: scale ({}) divided by it is more than a float32 holds",
            w.softcap, w.scale_value());
    if (w.scale) {
        require(is_positive_float(*w.scale), invalid, "scale is {}: it must be a float32 above 0",
                *w.scale);
    }
}

void check_tree(const Workload& w) {
    within("tree", w.tree, 0, longest);
    if (w.tree == 0) {
        return;
    }
    require(w.mask == Mask::full, invalid,
            "causal with a tree: the tree says which new tokens a token sees, and older ones are "
            "seen by all; leave causal out");
    require(!w.window, invalid,
            "window with a tree: where a token of a branch stands is not told by its place; leave "
            "the window out");
    require(w.seqlen_q <= most_tree_tokens, invalid,
            "seqlen_q is {} with a tree: a token's word has a bit for each of at most {}",
            w.seqlen_q, most_tree_tokens);
}

/// Bytes of every tensor must fit an address, so that no later product of sizes can overflow.
void check_sizes(const Workload& w) {
    const double most = std::ldexp(1.0, 60);
    const double wide = static_cast<double>(std::max(w.headdim, w.headdim_v)) * 4;
    const double q = static_cast<double>(w.tokens_q()) * static_cast<double>(w.heads_q) * wide;
    // A page more a sequence: a cache is a whole number of pages.
    const double tokens =
        static_cast<double>(w.tokens_k()) + static_cast<double>(w.batch * w.page_size);
    const double kv = tokens * static_cast<double>(w.heads_kv) * wide;
    require(q < most && kv < most, invalid,
            "batch {} × lengths {}/{} × heads {}/{} × head dims {}/{} is over 2^60 bytes", w.batch,
            w.seqlen_q, w.seqlen_k, w.heads_q, w.heads_kv, w.headdim, w.headdim_v);
}

}  // namespace

void validate(const Workload& w) {
    if (!w.is_attention() || w.pass != Workload{}.pass) {
        validate_operation(w);
    }
    if (!w.is_attention()) {
        return;
    }
    within("batch", w.batch, 1, largest_batch);
    check_heads(w);
    check_lengths("seqlen_q", w.seqlens_q, w.seqlen_q, w.batch);
    check_lengths("seqlen_k", w.seqlens_k, w.seqlen_k, w.batch);
    check_types(w);
    check_scales(w);
    check_softmax(w);
    check_tree(w);
    within("accuracy", static_cast<std::int64_t>(w.accuracy), 0, 1);
    within("page_size", w.page_size, 0, largest_page);
    check_sizes(w);
}

}  // namespace raceline
