// SPDX-License-Identifier: Apache-2.0
// prefill_mma's own source on an emulated SM, judged by the gate. The emulation knows the operands'
// layouts from the manual, not from the kernel. What only a GPU can show (the memory model, the
// instructions themselves, speed) stays to it.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "tests/kernels/peaked_logits.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

Device small_gpu(int units) {
    Device d;
    d.kind = DeviceKind::cuda;
    d.compute_capability = 80;
    d.units = units;
    d.smem_bytes_per_cta = test::most_shared_bytes;
    d.rates["flop.mma.bf16"] = d.rates["flop.mma.fp16"] = {.value = 1e12};
    d.l2_bytes = 1 << 19;  // so that heads are worked on in groups
    d.memory_bytes = std::int64_t{1} << 36;
    return d;
}

// Rows of `row` elements, apart by `pitch`, as a caller's strided tensor; the gaps are NaN.
struct Strided {
    std::vector<std::uint16_t> memory;
    std::uint16_t* start;
    Strided(const void* packed, std::size_t rows, std::size_t row, std::size_t pitch,
            std::size_t offset)
        : memory(rows * pitch + offset + 16, 0xffff) {
        auto* base = memory.data();
        while (reinterpret_cast<std::uintptr_t>(base) % 16 != 0) {
            ++base;
        }
        start = base + offset;
        for (std::size_t i = 0; packed != nullptr && i < rows; ++i) {
            std::memcpy(start + i * pitch, static_cast<const std::uint16_t*>(packed) + i * row,
                        row * 2);
        }
    }
};

struct Layout {
    std::size_t gap = 0, offset = 0;  ///< elements behind each (token, head), before the first
};

TensorArg with_strides(const TensorArg& packed, void* data, std::int64_t row, std::int64_t pitch) {
    return {data, packed.batch_stride / row * pitch, packed.seq_stride / row * pitch,
            packed.head_stride / row * pitch};
}

Correctness run(const Workload& w, int tile, const Device& device, const Layout& layout,
                const Inputs* given = nullptr, Draw draw = Draw::outliers) {
    const Kernel& kernel = find_kernel("prefill_mma");
    const Inputs in = given != nullptr ? *given : make_inputs(w, {.seed = 7, .draw = draw});
    const auto d = static_cast<std::size_t>(w.headdim);
    const auto dv = static_cast<std::size_t>(w.headdim_v);
    const auto rows_q = static_cast<std::size_t>(w.tokens_q() * w.heads_q);
    const auto rows_k = static_cast<std::size_t>(w.tokens_k() * w.heads_kv);
    Strided q(in.q.data(), rows_q, d, d + layout.gap, layout.offset);
    Strided k(in.k.data(), rows_k, d, d + layout.gap, layout.offset);
    Strided v(in.v.data(), rows_k, dv, dv + layout.gap, layout.offset);
    Strided out(nullptr, rows_q, dv, dv + layout.gap, layout.offset);
    std::vector<float> lse(in.lse_elements + 1, std::nanf(""));
    InputPointers at;
    at.lse = lse.data();
    at.sinks = in.sinks.empty() ? nullptr : in.sinks.data();
    at.cu_seqlens_q = in.cu_seqlens_q.empty() ? nullptr : in.cu_seqlens_q.data();
    at.cu_seqlens_k = in.cu_seqlens_k.empty() ? nullptr : in.cu_seqlens_k.data();
    AttentionArgs args = make_args(w, in, at);
    args.q = with_strides(args.q, q.start, w.headdim, w.headdim + layout.gap);
    args.k = with_strides(args.k, k.start, w.headdim, w.headdim + layout.gap);
    args.v = with_strides(args.v, v.start, w.headdim_v, w.headdim_v + layout.gap);
    args.out = with_strides(args.out, out.start, w.headdim_v, w.headdim_v + layout.gap);
    kernel.launch(args, tile, device, nullptr, nullptr);

    EXPECT_EQ(test::Ampere::get().copies_under_way(), 0U);
    std::vector<std::uint16_t> packed(rows_q * dv);
    for (std::size_t i = 0; i < rows_q; ++i) {
        std::memcpy(packed.data() + i * dv, out.start + i * (dv + layout.gap), dv * 2);
        for (std::size_t g = 0; g < layout.gap; ++g) {
            EXPECT_EQ(out.start[i * (dv + layout.gap) + dv + g], 0xffff) << "row " << i;
        }
    }
    EXPECT_TRUE(std::isnan(lse.back()));
    return judge(w, in, kernel.precision(w), std::as_bytes(std::span(packed)),
                 {lse.data(), in.lse_elements}, 7, draw);
}

void every_tile(const std::string& shape, const Layout& layout) {
    const Kernel& kernel = find_kernel("prefill_mma");
    const Workload w = parse_shape(shape);
    int ran = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        const Device device = small_gpu(2 + tile % 3);
        if (kernel.why_not(w, tile, device).empty()) {
            const Correctness c = run(w, tile, device, layout);
            EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
            ++ran;
        }
    }
    EXPECT_GT(ran, 0) << shape;
}

// What is not finite in Q, K or V must reach the outputs and the LSE that it belongs to.
TEST(EmulatedMma, keeps_what_is_not_finite) {
    const Kernel& kernel = find_kernel("prefill_mma");
    int ran = 0;
    for (const char* shape : {"b=1,h=2/1,q=140,k=150,d=64,causal", "b=1,h=1,q=70,k=110,d=128,sinks",
                              "b=1,h=1,q=70,k=110,d=256,dtype=fp16"}) {
        const Workload w = parse_shape(shape);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            const Device device = small_gpu(2);
            if (kernel.why_not(w, tile, device).empty()) {
                const Correctness c = run(w, tile, device, {}, nullptr, Draw::non_finite);
                EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
                ++ran;
            }
        }
    }
    EXPECT_GT(ran, 6);
}

class Prefill : public testing::TestWithParam<const char*> {};
TEST_P(Prefill, is_correct_in_every_tile) {
    every_tile(GetParam(), {});
}
INSTANTIATE_TEST_SUITE_P(
    EmulatedMma, Prefill,
    testing::Values(
        "b=1,h=1,q=64,k=128,d=64", "b=1,h=1,q=140,k=210,d=64", "b=1,h=1,q=130,k=150,d=128",
        "b=1,h=1,q=70,k=110,d=256", "b=1,h=2/1,q=140,k=290,d=256,causal,sinks",
        "b=2,h=1,q=130;70,k=40;200,d=224,dtype=fp16,window=50,softcap=20",
        "b=2,h=4/2,q=70,k=70,d=64,causal", "b=1,h=2/1,q=150,k=150,d=128,causal",
        "b=1,h=1,q=70,k=133,d=128,dtype=fp16,causal", "b=1,h=2,q=133,k=70,d=64,dtype=fp16,causal",
        "b=1,h=3,q=1,k=1,d=64,causal", "b=1,h=2,q=65,k=0,d=64", "b=1,h=1,q=129,k=127,d=40",
        "b=1,h=1,q=90,k=150,d=160/72,causal", "b=1,h=1,q=80,k=100,d=192/128,dtype=fp16",
        "b=1,h=1,q=70,k=90,d=200,dtype=fp16,causal", "b=1,h=1,q=150,k=200,d=64,window=60",
        "b=1,h=1,q=150,k=200,d=64,window=20:9", "b=1,h=1,q=100,k=150,d=128,causal,sinks",
        "b=1,h=2,q=100,k=50,d=64,causal,sinks", "b=1,h=2,q=80,k=90,d=64,softcap=20",
        "b=1,h=2,q=60,k=70,d=128,dtype=fp16,softcap=3,causal,sinks",
        "b=4,h=2/1,q=130;1;129;0,k=70;70;129;5,d=64,causal",
        "b=3,h=1,q=7,k=100;117;7,d=128,dtype=fp16"));

// Head dims, groups, masks, lengths and types drawn at random, one tile each.
TEST(EmulatedMma, random_calls) {
    std::mt19937 random(11);
    const auto upto = [&](unsigned most) { return static_cast<int>(random() % (most + 1)); };
    const Kernel& kernel = find_kernel("prefill_mma");
    for (int i = 0; i < 40; ++i) {
        const int d = 8 + 8 * upto(31);
        const int heads_kv = 1 + upto(1);
        std::string shape = "b=1,h=" + std::to_string(heads_kv * (1 + upto(2))) + "/" +
                            std::to_string(heads_kv) + ",q=" + std::to_string(upto(90)) +
                            ",k=" + std::to_string(upto(140)) + ",d=" + std::to_string(d) + "/" +
                            std::to_string(8 + 8 * upto(d / 8 - 1));
        shape += upto(1) ? ",dtype=bf16" : ",dtype=fp16";
        shape += upto(1) ? ",causal" : "";
        shape += upto(2) == 0 ? ",window=" + std::to_string(upto(70)) : "";
        shape += upto(3) == 0 ? ",sinks" : "";
        shape += upto(3) == 0 ? ",softcap=" + std::to_string(1 + upto(40)) : "";
        const Workload w = parse_shape(shape);
        int tile = upto(kernel.tile_count() - 1);
        while (!kernel.why_not(w, tile, small_gpu(2)).empty()) {
            tile = (tile + 1) % kernel.tile_count();
        }
        const Correctness c = run(w, tile, small_gpu(2), {});
        EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
    }
}

TEST(EmulatedMma, reads_and_writes_any_strides) {
    // Rows of aligned 16-byte chunks; those that are not, by address and by stride.
    every_tile("b=2,h=2/1,q=70,k=100,d=64,causal", {.gap = 8});
    every_tile("b=2,h=2/1,q=70,k=100,d=64,causal", {.gap = 0, .offset = 1});
    every_tile("b=1,h=2,q=70,k=90,d=128,dtype=fp16", {.gap = 3});
    every_tile("b=3,h=2,q=7;70;1,k=50;117;7,d=72,causal", {.gap = 5, .offset = 3});
}

// With bases that follow maxima by powers of 2^8 only, the error would be more than 1.2 times that
// of a softmax that knows the row's maximum.
TEST(EmulatedMma, peaked_logits_are_nearly_as_exact_as_beside_the_maximum) {
    test::expect_nearly_as_exact_as_beside_the_maximum(
        find_kernel("prefill_mma"), "b=1,h=2,q=256,k=512,d=128,dtype=bf16", small_gpu(2), 1.15,
        [](const Workload& w, int tile, const Inputs& in) {
            return run(w, tile, small_gpu(2), {}, &in);
        });
}

TEST(EmulatedMma, keys_behind_the_used_length_do_not_count) {
    const Workload w = parse_shape("b=2,h=2,q=40,k=130,d=64,causal");
    const Inputs in = make_inputs(w, {.seed = 3});
    Workload used = w;
    used.seqlens_q = {40, 40};
    used.seqlens_k = {130, 70};
    // The oracle sees the packed form of the same cache; the kernel the cache, NaN behind its end.
    Inputs packed = make_inputs(used, {.seed = 3});
    const std::size_t token = 2 * 64 * 2;
    std::vector<std::byte> k(2 * 130 * token, std::byte{0xff}), v = k;
    for (int b = 0; b < 2; ++b) {
        const std::size_t from = b == 0 ? 0 : 130 * token;
        const std::size_t bytes = (b == 0 ? 130 : 70) * token;
        std::memcpy(k.data() + b * 130 * token, packed.k.data() + from, bytes);
        std::memcpy(v.data() + b * 130 * token, packed.v.data() + from, bytes);
    }
    const std::vector<std::int32_t> lengths{130, 70};
    std::vector<std::byte> out(in.out_elements * 2, std::byte{0xff});
    std::vector<float> lse(in.lse_elements, std::nanf(""));
    InputPointers at;
    at.q = packed.q.data();
    at.k = k.data();
    at.v = v.data();
    at.out = out.data();
    at.lse = lse.data();
    AttentionArgs args = make_args(w, in, at);
    args.seqlens_k = lengths.data();
    const Kernel& kernel = find_kernel("prefill_mma");
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, small_gpu(2)).empty()) {
            kernel.launch(args, tile, small_gpu(2), nullptr, nullptr);
            const Correctness c = judge(used, packed, kernel.precision(w), out, lse, 3);
            EXPECT_TRUE(c.passed) << kernel.tile_text(tile) << ": " << c.why;
        }
    }
}

}  // namespace
}  // namespace raceline
