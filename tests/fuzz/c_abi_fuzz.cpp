// SPDX-License-Identifier: Apache-2.0
// libFuzzer over raceline.h: whatever a caller writes into the structs and texts, a call returns a
// status, keeps a sentence if it failed, and touches its outputs only if it did not. Tensors that
// would leave the memory behind them lose their pointer: what lies there only the caller can know.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fuzzer/FuzzedDataProvider.h>
#include <string>
#include <vector>

#include "raceline/raceline.h"
#include "raceline/raceline.hpp"
#include "workload/shape_grammar.hpp"

namespace {

constexpr std::size_t arena_bytes = 1 << 16;
alignas(64) std::array<unsigned char, arena_bytes> inputs[3];
alignas(64) std::array<unsigned char, arena_bytes> outputs[2];
alignas(64) std::array<unsigned char, arena_bytes> scratch;

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void check_status(rl_status status) {
    check(status >= RL_OK && status <= RL_INTERNAL);
    check((status == RL_OK) == (rl_last_error()[0] == '\0'));
}

// Mostly small and sensible, sometimes anything.
std::int64_t size_from(FuzzedDataProvider& data) {
    return data.ConsumeProbability<float>() < 0.95F
               ? data.ConsumeIntegralInRange<std::int64_t>(0, 9)
               : data.ConsumeIntegral<std::int64_t>();
}

// −1, no limit, is as likely as any small offset.
std::int64_t window_from(FuzzedDataProvider& data) {
    const std::int64_t size = size_from(data);
    return size == INT64_MIN ? size : size - 1;
}

bool fits(const rl_tensor& t) {
    constexpr std::array<std::int64_t, 4> bytes{4, 2, 2, 1};
    std::int64_t reach = 1;
    for (int i = 0; i < t.rank; ++i) {
        std::int64_t part = 0;
        if (t.shape[i] == 0) {
            return true;
        }
        if (t.shape[i] < 0 || __builtin_mul_overflow(t.shape[i] - 1, t.strides[i], &part) ||
            part < 0 || __builtin_add_overflow(reach, part, &reach)) {
            return false;
        }
    }
    return t.dtype >= 0 && t.dtype < 4 &&
           reach <=
               static_cast<std::int64_t>(arena_bytes) / bytes[static_cast<std::size_t>(t.dtype)];
}

rl_tensor tensor_from(FuzzedDataProvider& data, void* memory, std::int32_t dtype, std::int32_t rank,
                      const std::array<std::int64_t, 4>& shape) {
    rl_tensor t = rl_contiguous(memory, dtype, rank, shape.data());
    // At most one thing is off, so that deep checks are reached.
    switch (data.ConsumeIntegralInRange<int>(0, 20)) {
        case 0: t.strides[data.ConsumeIntegralInRange<int>(0, 3)] = size_from(data); break;
        case 1: t.shape[data.ConsumeIntegralInRange<int>(0, 3)] = size_from(data); break;
        case 2: t.dtype = data.ConsumeIntegralInRange<std::int32_t>(-1, 6); break;
        case 3: t.rank = data.ConsumeIntegralInRange<std::int32_t>(-1, 6); break;
        case 4: t.struct_size = data.ConsumeIntegralInRange<std::size_t>(0, sizeof(t)); break;
        default: break;
    }
    if (t.rank < 1 || t.rank > 4 || !fits(t)) {
        t.data = nullptr;
    }
    return t;
}

rl_options options_from(FuzzedDataProvider& data, const std::string& backend) {
    rl_options o = RL_INIT(rl_options);
    o.causal = data.ConsumeBool() ? 1 : 0;
    o.has_window = data.ConsumeBool() ? 1 : 0;
    o.window_left = window_from(data);
    o.window_right = window_from(data);
    o.scale = data.ConsumeBool() ? 0 : data.ConsumeFloatingPoint<double>();
    o.softcap = data.ConsumeBool() ? 0 : data.ConsumeFloatingPoint<double>();
    o.backend = backend.c_str();
    o.checked = 1;  // else a wild page index is the caller's own
    o.threads = data.ConsumeIntegralInRange<std::int32_t>(-1, 3);
    o.accuracy = data.ConsumeIntegralInRange<std::int32_t>(-1, 2);
    return o;
}

bool outputs_untouched() {
    for (const auto& output : outputs) {
        for (const unsigned char byte : output) {
            if (byte != 0xff) {
                return false;
            }
        }
    }
    return true;
}

struct Sizes {
    std::int64_t batch, heads_q, heads_kv, seqlen_q, seqlen_k, headdim, headdim_v;
    std::int32_t dtype;
    explicit Sizes(FuzzedDataProvider& data)
        : batch(data.ConsumeIntegralInRange(0, 3)),
          heads_q(data.ConsumeIntegralInRange(0, 4)),
          heads_kv(data.ConsumeIntegralInRange(0, 2)),
          seqlen_q(data.ConsumeIntegralInRange(0, 7)),
          seqlen_k(data.ConsumeIntegralInRange(0, 19)),
          headdim(data.ConsumeIntegralInRange(0, 40)),
          headdim_v(data.ConsumeIntegralInRange(0, 40)),
          dtype(data.ConsumeIntegralInRange(0, 3)) {}
};

void fuzz_forward(FuzzedDataProvider& data) {
    const Sizes s(data);
    const bool ragged = data.ConsumeBool();
    std::vector<std::int32_t> sums_q{0}, sums_k{0};
    for (std::int64_t b = 0; b < s.batch; ++b) {
        sums_q.push_back(sums_q.back() + data.ConsumeIntegralInRange<std::int32_t>(-1, 9));
        sums_k.push_back(sums_k.back() + data.ConsumeIntegralInRange<std::int32_t>(-1, 9));
    }
    const auto tensor = [&](void* memory, std::int64_t length, std::int64_t tokens,
                            std::int64_t heads, std::int64_t width) {
        return ragged ? tensor_from(data, memory, s.dtype, 3, {tokens, heads, width, 0})
                      : tensor_from(data, memory, s.dtype, 4, {s.batch, length, heads, width});
    };
    const rl_tensor q = tensor(inputs[0].data(), s.seqlen_q, sums_q.back(), s.heads_q, s.headdim);
    const rl_tensor k = tensor(inputs[1].data(), s.seqlen_k, sums_k.back(), s.heads_kv, s.headdim);
    const rl_tensor v =
        tensor(inputs[2].data(), s.seqlen_k, sums_k.back(), s.heads_kv, s.headdim_v);
    const rl_tensor out =
        tensor(outputs[0].data(), s.seqlen_q, sums_q.back(), s.heads_q, s.headdim_v);
    const std::string backend = data.ConsumeRandomLengthString(9);
    const rl_options options = options_from(data, backend);
    rl_forward_args args = RL_INIT(rl_forward_args);
    args.q = &q;
    args.k = &k;
    args.v = &v;
    args.out = data.ConsumeIntegralInRange(0, 30) == 0 ? &q : &out;
    args.options = &options;
    if (ragged) {
        args.cu_seqlens_count = s.batch + 1;
        args.cu_seqlens_q = sums_q.data();
        args.cu_seqlens_k = sums_k.data();
    }
    std::size_t bytes = 0;
    const rl_status query = rl_forward_workspace(&args, RL_CPU, &bytes);
    check_status(query);
    const rl_status status = rl_forward(&args, RL_CPU, nullptr, scratch.data(),
                                        query == RL_OK && bytes > arena_bytes ? 0 : arena_bytes);
    check_status(status);
    check(status == RL_OK || outputs_untouched());
    char* verdict = nullptr;
    const rl_status judged = rl_check_forward(&args, "cpu_flash", 1, &verdict);
    check_status(judged);
    check((judged == RL_OK) == (verdict != nullptr));
    rl_free(verdict);
    check(status == RL_OK || outputs_untouched());
}

void fuzz_decode(FuzzedDataProvider& data) {
    const Sizes s(data);
    const bool paged = data.ConsumeBool();
    const std::int64_t first = paged ? 5 : s.batch;
    const std::int32_t cache = data.ConsumeBool() ? s.dtype : RL_E4M3;
    const bool packed = data.ConsumeBool();
    const auto queries = [&](void* memory, std::int64_t width) {
        return packed
                   ? tensor_from(data, memory, s.dtype, 3, {s.seqlen_q, s.heads_q, width, 0})
                   : tensor_from(data, memory, s.dtype, 4, {s.batch, s.seqlen_q, s.heads_q, width});
    };
    const rl_tensor q = queries(inputs[0].data(), s.headdim);
    const rl_tensor k =
        tensor_from(data, inputs[1].data(), cache, 4, {first, s.seqlen_k, s.heads_kv, s.headdim});
    const rl_tensor v =
        tensor_from(data, inputs[2].data(), cache, 4, {first, s.seqlen_k, s.heads_kv, s.headdim_v});
    const rl_tensor out = queries(outputs[0].data(), s.headdim_v);
    std::vector<std::int32_t> lengths, table, sums;
    // As many entries as the largest batch that a mutated q can have with memory behind it.
    for (int b = 0; b < 4; ++b) {
        lengths.push_back(data.ConsumeIntegralInRange<std::int32_t>(-1, 40));
    }
    const std::int64_t stride = data.ConsumeIntegralInRange<std::int64_t>(0, 8);
    for (std::int64_t i = 0; i < 4 * stride; ++i) {
        table.push_back(data.ConsumeIntegralInRange<std::int32_t>(-1, 5));
    }
    if (q.rank == 4 && q.shape[0] > 4) {
        return;
    }
    const std::string backend;
    const rl_options options = options_from(data, backend);
    rl_decode_args args = RL_INIT(rl_decode_args);
    args.q = &q;
    args.k_cache = &k;
    args.v_cache = &v;
    args.out = &out;
    args.options = &options;
    args.seqlens_k = data.ConsumeBool() ? lengths.data() : nullptr;
    args.max_seqlen_k = size_from(data);
    args.block_table = paged && stride > 0 ? table.data() : nullptr;
    args.block_table_stride = stride;
    if (packed) {
        for (int b = 0; b < 5; ++b) {
            sums.push_back(data.ConsumeIntegralInRange<std::int32_t>(-1, 40));
        }
        args.cu_seqlens_count = data.ConsumeIntegralInRange<std::int64_t>(-1, 5);
        args.cu_seqlens_q = sums.data();
        args.max_seqlen_q = size_from(data);
        if (args.cu_seqlens_count > 1 && data.ConsumeBool()) {  // others are refused at once
            std::sort(sums.begin(), sums.end());
            sums[0] = 0;
            sums[static_cast<std::size_t>(args.cu_seqlens_count) - 1] =
                static_cast<std::int32_t>(s.seqlen_q);
        }
    }
    const rl_status status =
        rl_decode(&args, RL_CPU, nullptr, scratch.data(), data.ConsumeBool() ? 0 : arena_bytes);
    check_status(status);
    check(status == RL_OK || outputs_untouched());
}

// Predictions enumerate a kernel's tasks: shapes of ordinary size keep the fuzzer quick.
void fuzz_texts(FuzzedDataProvider& data) {
    const std::string device = data.ConsumeRandomLengthString(8);
    const std::string kernel = data.ConsumeRandomLengthString(8);
    const std::string shape = data.ConsumeRemainingBytesAsString();
    try {
        const raceline::Workload w = raceline::parse_shape(shape.c_str());
        if (w.tokens_q() > 10000 || w.tokens_k() > 100000 || w.heads_q > 64 || w.batch > 64) {
            return;
        }
    } catch (const raceline::Error&) {
        // The call must say the same in its own way.
    }
    char* json = nullptr;
    const rl_status status = rl_predict_shape(shape.c_str(), device.c_str(), kernel.c_str(), &json);
    check_status(status);
    check((status == RL_OK) == (json != nullptr));
    rl_free(json);
    char* bound = nullptr;
    const rl_status of_bound = rl_predict_bound(shape.c_str(), device.c_str(), &bound);
    check_status(of_bound);
    check(status != RL_OK || of_bound == RL_OK);
    check((of_bound == RL_OK) == (bound != nullptr));
    rl_free(bound);
}

void fuzz_samples(FuzzedDataProvider& data) {
    std::vector<double> samples;
    while (data.remaining_bytes() >= sizeof(double)) {
        samples.push_back(data.ConsumeFloatingPoint<double>());
    }
    rl_summary summary = RL_INIT(rl_summary);
    const auto count = static_cast<std::int64_t>(samples.size());
    const rl_status status = rl_summarize(samples.data(), count, &summary);
    check_status(status);
    check(status != RL_OK || (summary.low <= summary.median && summary.median <= summary.high));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    FuzzedDataProvider data(bytes, size);
    for (auto& output : outputs) {
        output.fill(0xff);
    }
    switch (data.ConsumeIntegralInRange<int>(0, 3)) {
        case 0: fuzz_forward(data); break;
        case 1: fuzz_decode(data); break;
        case 2: fuzz_texts(data); break;
        default: fuzz_samples(data); break;
    }
    return 0;
}
