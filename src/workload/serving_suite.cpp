// SPDX-License-Identifier: Apache-2.0
#include "workload/serving_suite.hpp"

#include <algorithm>
#include <array>

#include "workload/shape_draw.hpp"

namespace raceline {
namespace {

constexpr int doublings_of_batch = 8;     // up to 256
constexpr int doublings_of_context = 17;  // up to 131,072
constexpr std::int64_t most_new_tokens = 16;
constexpr double most_serving_bytes = 16e9;

void draw_served_heads(ShapeDraw& draw, Workload& w) {
    if (draw.one_in(10)) {  // the latent cache of DeepSeek's models
        w.mla = true;
        w.heads_kv = 1;
        w.heads_q = draw.of(std::array<std::int64_t, 3>{16, 64, 128});
        w.headdim = 576;
        w.headdim_v = 512;
        return;
    }
    w.heads_kv = draw.of(std::array<std::int64_t, 6>{8, 8, 8, 4, 1, 32});
    w.heads_q = w.heads_kv * draw.of(std::array<std::int64_t, 6>{4, 4, 8, 1, 2, 16});
    w.headdim = draw.of(std::array<std::int64_t, 8>{128, 128, 128, 128, 64, 64, 256, 96});
    w.headdim_v = w.headdim;
}

void draw_served_types(ShapeDraw& draw, Workload& w) {
    constexpr std::array types{DType::bf16, DType::bf16, DType::bf16, DType::fp16, DType::fp32};
    constexpr std::array caches{DType::e4m3, DType::e4m3, DType::e4m3, DType::nvfp4};
    w.dtype = types[static_cast<std::size_t>(draw.between(0, 4))];
    w.kv_dtype = draw.one_in(2) ? w.dtype : caches[static_cast<std::size_t>(draw.between(0, 3))];
    if (w.mla && w.kv_dtype == DType::nvfp4) {
        w.kv_dtype = w.dtype;
    }
}

void draw_served_options(ShapeDraw& draw, Workload& w) {
    if (!draw.one_in(4)) {
        w.page_size = draw.of(std::array<std::int64_t, 7>{16, 16, 64, 64, 128, 256, 48});
    }
    draw_window(draw, w, 6, 100, 8191);
    draw_softcap_and_sinks(draw, w, 6);
}

double served_bytes(const Workload& w) {
    const auto columns = static_cast<double>(w.headdim + (w.mla ? 0 : w.headdim_v));
    return static_cast<double>(w.tokens_k() * w.heads_kv) * columns * bytes_of(w.kv_dtype);
}

// One sequence of one length is no list: a shape has one spelling.
void set_lengths(std::vector<std::int64_t> lengths, std::vector<std::int64_t>& list,
                 std::int64_t& largest) {
    largest = *std::max_element(lengths.begin(), lengths.end());
    if (std::any_of(lengths.begin(), lengths.end(), [&](auto n) { return n != largest; })) {
        list = std::move(lengths);
    } else {
        list.clear();
    }
}

void draw_served_lengths(ShapeDraw& draw, Workload& w) {
    w.batch = draw.by_doublings(doublings_of_batch);
    const bool equal = draw.one_in(4);
    const std::int64_t tokens = draw.one_in(2) ? 1 : draw.between(2, most_new_tokens);
    const bool own_tokens = tokens > 1 && draw.one_in(2);
    std::vector<std::int64_t> keys;
    std::vector<std::int64_t> queries;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        keys.push_back(equal && b > 0 ? keys.front() : draw.by_doublings(doublings_of_context));
        queries.push_back(own_tokens ? draw.between(1, tokens) : tokens);
    }
    w.mask = tokens > 1 ? Mask::causal : w.mask;
    for (;; keys.pop_back(), queries.pop_back()) {  // as many as there is room for
        w.batch = static_cast<std::int64_t>(keys.size());
        set_lengths(keys, w.seqlens_k, w.seqlen_k);
        set_lengths(queries, w.seqlens_q, w.seqlen_q);
        if (w.batch == 1 || served_bytes(w) <= most_serving_bytes) {
            return;
        }
    }
}

}  // namespace

std::vector<Workload> draw_serving(std::uint64_t seed, std::size_t count) {
    ShapeDraw draw(seed, 0x73657276696e67);
    std::vector<Workload> drawn;
    while (drawn.size() < count) {
        Workload w;
        draw_served_heads(draw, w);
        draw_served_types(draw, w);
        draw_served_options(draw, w);
        draw_served_lengths(draw, w);
        if (std::find(drawn.begin(), drawn.end(), w) == drawn.end()) {
            validate(w);
            drawn.push_back(std::move(w));
        }
    }
    return drawn;
}

}  // namespace raceline
