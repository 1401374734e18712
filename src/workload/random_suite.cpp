// SPDX-License-Identifier: Apache-2.0
#include "workload/random_suite.hpp"

#include <algorithm>
#include <array>

#include "workload/shape_draw.hpp"

namespace raceline {
namespace {

// Below these a case is over before it can be timed against a launch floor.
constexpr double least_flops = 1e8;
constexpr double least_cache_bytes = 1e6;
constexpr double most_flops = 3e9;         // a prefill of tens of milliseconds on two cores
constexpr double most_cache_bytes = 48e6;  // a decode of a few milliseconds

void draw_heads(ShapeDraw& draw, Workload& w) {
    w.heads_kv = draw.of(std::array<std::int64_t, 5>{1, 2, 4, 8, 3});
    w.heads_q = w.heads_kv * draw.of(std::array<std::int64_t, 5>{1, 1, 2, 4, 8});
    w.headdim = draw.of(std::array<std::int64_t, 8>{64, 64, 64, 128, 128, 128, 96, 32});
    w.headdim_v = w.headdim;
}

void draw_options(ShapeDraw& draw, Workload& w) {
    constexpr std::array types{DType::fp32, DType::bf16, DType::bf16, DType::fp32, DType::fp16};
    w.dtype = types[static_cast<std::size_t>(draw.between(0, 4))];
    w.kv_dtype = w.dtype;
    draw_window(draw, w, 5, 31, 600);
    draw_softcap_and_sinks(draw, w, 8);
    if (draw.one_in(3)) {
        w.page_size = draw.of(std::array<std::int64_t, 4>{16, 32, 64, 128});
    }
}

Workload draw_prefill(ShapeDraw& draw) {
    Workload w;
    draw_heads(draw, w);
    w.mask = draw.one_in(2) ? Mask::causal : Mask::full;
    draw_options(draw, w);
    const std::int64_t size = draw.of(std::array<std::int64_t, 4>{300, 600, 1200, 2400});
    if (draw.one_in(3)) {
        w.batch = draw.between(2, 4);
        for (std::int64_t b = 0; b < w.batch; ++b) {
            w.seqlens_q.push_back(draw.length_near(size));
        }
        w.seqlens_k = w.seqlens_q;
        w.seqlen_q = *std::max_element(w.seqlens_q.begin(), w.seqlens_q.end());
        w.seqlen_k = w.seqlen_q;
        return w;
    }
    w.batch = draw.between(1, 2);
    w.seqlen_q = draw.length_near(size);
    // Now and then a chunk of new tokens over an older context.
    w.seqlen_k = w.seqlen_q + (draw.one_in(4) ? draw.length_near(size) : 0);
    return w;
}

Workload draw_decode(ShapeDraw& draw) {
    Workload w;
    draw_heads(draw, w);
    draw_options(draw, w);
    const std::int64_t size = draw.of(std::array<std::int64_t, 4>{1500, 4000, 10000, 24000});
    w.batch = draw.of(std::array<std::int64_t, 5>{1, 1, 2, 4, 9});
    w.seqlen_q = 1;
    w.seqlen_k = draw.length_near(size);
    if (w.batch > 1 && draw.one_in(2)) {
        for (std::int64_t b = 0; b < w.batch; ++b) {
            w.seqlens_k.push_back(draw.length_near(size));
        }
        w.seqlen_k = *std::max_element(w.seqlens_k.begin(), w.seqlens_k.end());
    }
    return w;
}

bool fits(const Workload& w) {
    return w.flops() <= most_flops && w.bytes_kv() <= most_cache_bytes &&
           (w.flops() >= least_flops || w.bytes_kv() >= least_cache_bytes);
}

bool same_but_types(const Workload& a, Workload b) {
    b.dtype = a.dtype;
    b.kv_dtype = a.kv_dtype;
    return a == b;
}

bool contains(std::span<const Workload> list, const Workload& w) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Workload& other) { return same_but_types(other, w); });
}

}  // namespace

std::vector<Workload> draw_workloads(std::uint64_t seed, std::size_t count,
                                     std::span<const Workload> taken) {
    ShapeDraw draw(seed, 0x72616e646f6d);
    std::vector<Workload> drawn;
    while (drawn.size() < count) {
        // Halves of prefill and decode, whatever is rejected in between.
        const Workload w = drawn.size() % 2 == 0 ? draw_prefill(draw) : draw_decode(draw);
        if (fits(w) && !contains(taken, w) && !contains(drawn, w)) {
            validate(w);
            drawn.push_back(w);
        }
    }
    return drawn;
}

}  // namespace raceline
