// SPDX-License-Identifier: Apache-2.0
// Prefill, then one decode step from a paged cache, each predicted before it runs. The decode step
// repeats the prompt's last token, so that both must give the same answer.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <raceline/raceline.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using raceline::DType;
using raceline::TensorView;

constexpr std::int64_t heads_q = 8, heads_kv = 2, tokens = 200, headdim = 64, page = 16;
constexpr std::int64_t pages = (tokens + page - 1) / page;

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
        value = normal(engine);
    }
    return values;
}

// Memory for a call: at least the bytes that its query names, aligned as it asks.
class Workspace {
public:
    explicit Workspace(std::size_t bytes) : memory_(bytes + raceline::workspace_alignment) {
        void* start = memory_.data();
        std::size_t space = memory_.size();
        execution.workspace = std::align(raceline::workspace_alignment, bytes, start, space);
        execution.workspace_bytes = bytes;
    }
    raceline::Execution execution;

private:
    std::vector<std::byte> memory_;
};

void print(const char* what, const raceline::PredictedTime& time) {
    std::printf("%-8s %8.1f us predicted, limited by %s (%s, %s)\n", what, 1e6 * time.seconds,
                time.limiter.c_str(), time.kernel.c_str(), time.tile.c_str());
}

// Token t of a cache in pages that are handed out backwards.
std::vector<float> paged(const std::vector<float>& packed) {
    constexpr std::int64_t row = heads_kv * headdim;
    std::vector<float> cache(static_cast<std::size_t>(pages * page * row));
    for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t slot = (pages - 1 - t / page) * page + t % page;
        std::copy_n(packed.begin() + t * row, row, cache.begin() + slot * row);
    }
    return cache;
}

int example() {
    auto q = random_floats(tokens * heads_q * headdim, 1);
    auto k = random_floats(tokens * heads_kv * headdim, 2);
    auto v = random_floats(tokens * heads_kv * headdim, 3);
    std::vector<float> out(q.size());

    raceline::ForwardArgs prompt;
    prompt.q = TensorView::contiguous(q.data(), DType::fp32, {1, tokens, heads_q, headdim});
    prompt.k = TensorView::contiguous(k.data(), DType::fp32, {1, tokens, heads_kv, headdim});
    prompt.v = TensorView::contiguous(v.data(), DType::fp32, {1, tokens, heads_kv, headdim});
    prompt.out = TensorView::contiguous(out.data(), DType::fp32, {1, tokens, heads_q, headdim});
    prompt.options.causal = true;
    print("forward", raceline::predict_forward(prompt, "cpu"));
    const Workspace for_prompt(forward_workspace(prompt, raceline::Place::cpu));
    forward(prompt, for_prompt.execution);

    const std::int64_t last = (tokens - 1) * heads_q * headdim;
    std::vector<float> k_pages = paged(k), v_pages = paged(v), step_out(heads_q * headdim);
    std::vector<std::int32_t> table;
    for (std::int64_t i = 0; i < pages; ++i) {
        table.push_back(static_cast<std::int32_t>(pages - 1 - i));
    }
    raceline::DecodeArgs step;
    step.q = TensorView::contiguous(q.data() + last, DType::fp32, {1, 1, heads_q, headdim});
    step.k_cache =
        TensorView::contiguous(k_pages.data(), DType::fp32, {pages, page, heads_kv, headdim});
    step.v_cache =
        TensorView::contiguous(v_pages.data(), DType::fp32, {pages, page, heads_kv, headdim});
    step.out = TensorView::contiguous(step_out.data(), DType::fp32, {1, 1, heads_q, headdim});
    step.max_seqlen_k = tokens;
    step.block_table = table.data();
    step.block_table_stride = pages;
    step.options.checked = true;
    print("decode", raceline::predict_decode(step, "cpu"));
    const Workspace for_step(decode_workspace(step, raceline::Place::cpu));
    decode(step, for_step.execution);

    double wrong = 0, size = 0;
    for (std::size_t i = 0; i < step_out.size(); ++i) {
        const double expected = out[static_cast<std::size_t>(last) + i];
        wrong += (step_out[i] - expected) * (step_out[i] - expected);
        size += expected * expected;
    }
    const double error = std::sqrt(wrong / size);
    std::printf("decode differs from the prompt's last row by %.1e\n", error);

    print("H200", raceline::predict_shape("b=64,h=64/8,q=1,k=32768,d=128,dtype=bf16", "h200"));
    return error < 1e-5 ? 0 : 1;
}

}  // namespace

int main() {
    try {
        std::printf("raceline %s\n", raceline::version().c_str());
        return example();
    } catch (const raceline::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
