// SPDX-License-Identifier: Apache-2.0
// prefill_sm90's own source on an emulated SM, judged by the gate. The emulation knows Hopper's
// operand layouts from the manual, not from the kernel. What only a GPU can show (the memory model,
// the instructions themselves, speed) stays to it.
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "tests/kernels/emulated_sm90/strided.hpp"
#include "tests/kernels/peaked_logits.hpp"
#include "tests/kernels/random_shape.hpp"
#include "workload/inputs.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::small_hopper;
using Strided = test::Strided<std::uint16_t>;

struct Layout {
    std::size_t gap = 0, offset = 0;  ///< elements behind each (token, head), before the first
};

TensorArg with_strides(const TensorArg& packed, void* data, std::int64_t row, std::int64_t pitch) {
    return {data, packed.batch_stride / row * pitch, packed.seq_stride / row * pitch,
            packed.head_stride / row * pitch};
}

Correctness run(const Workload& w, int tile, const Device& device, const Layout& layout,
                const std::function<void(Inputs&)>& change = nullptr, Draw draw = Draw::outliers) {
    const Kernel& kernel = find_kernel("prefill_sm90");
    Inputs in = make_inputs(w, {.seed = 7, .draw = draw});
    if (change) {
        change(in);
    }
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
    std::vector<std::byte> workspace(kernel.workspace(w, tile, device), std::byte{0xff});
    kernel.launch(args, tile, device, workspace.data(), nullptr);

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
    const Kernel& kernel = find_kernel("prefill_sm90");
    const Workload w = parse_shape(shape);
    int ran = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        const Device device = small_hopper(2 + tile % 3);
        if (kernel.why_not(w, tile, device).empty()) {
            const Correctness c = run(w, tile, device, layout);
            EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
            ++ran;
        }
    }
    EXPECT_GT(ran, 0) << shape;
}

// What is not finite in Q, K or V must reach the outputs and the LSE that it belongs to.
TEST(EmulatedSm90, keeps_what_is_not_finite) {
    const Kernel& kernel = find_kernel("prefill_sm90");
    int ran = 0;
    for (const char* shape :
         {"b=1,h=2/1,q=200,k=210,d=64,causal", "b=1,h=1,q=130,k=300,d=128,sinks",
          "b=1,h=1,q=130,k=150,d=256,dtype=fp16"}) {
        const Workload w = parse_shape(shape);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            const Device device = small_hopper(2);
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
    EmulatedSm90, Prefill,
    testing::Values(
        "b=1,h=1,q=64,k=128,d=64", "b=1,h=2,q=200,k=400,d=64", "b=1,h=2,q=130,k=300,d=128",
        "b=1,h=1,q=100,k=200,d=256", "b=2,h=4/2,q=300,k=300,d=64,causal",
        "b=1,h=4/1,q=260,k=260,d=128,causal",
        // Upper rows end two blocks before the work tile does, and have several of their own.
        "b=1,h=6,q=200,k=500,d=128,causal", "b=1,h=2,q=70,k=333,d=128,dtype=fp16,causal",
        "b=1,h=2,q=333,k=70,d=64,dtype=fp16,causal", "b=1,h=3,q=1,k=1,d=64,causal",
        "b=1,h=2,q=65,k=0,d=64", "b=1,h=2,q=129,k=127,d=40", "b=1,h=2,q=90,k=150,d=160/72,causal",
        "b=1,h=2,q=140,k=240,d=192/128", "b=1,h=2,q=300,k=400,d=64,window=60",
        "b=1,h=2,q=150,k=400,d=128,causal,sinks", "b=2,h=4/2,q=200,k=300,d=64,causal,softcap=20",
        "b=1,h=2,q=100,k=270,d=128,dtype=fp16,softcap=3,sinks",
        "b=1,h=1,q=90,k=200,d=192/128,causal,softcap=30", "b=1,h=1,q=70,k=150,d=256,softcap=50",
        "b=1,h=2,q=200,k=100,d=64,causal,sinks",
        "b=4,h=4/2,q=300;1;129;0,k=300;70;129;5,d=64,causal",
        // Work tiles so short that the next outputs come while a storing warp is behind.
        "b=1,h=24,q=64,k=40,d=64", "b=1,h=16,q=130,k=40,d=128",
        "b=3,h=2,q=7,k=100;217;7,d=128,dtype=fp16"));

class RandomSm90 : public testing::TestWithParam<std::uint64_t> {};
TEST_P(RandomSm90, case_is_correct_in_every_tile) {
    // Up to two tiles of rows of any size.
    const std::string shape = test::random_shape(GetParam(), 8, 400);
    every_tile(shape + (GetParam() % 3 == 0 ? ",dtype=fp16" : "") +
                   (GetParam() % 5 == 0 ? ",softcap=20" : ""),
               {});
}
INSTANTIATE_TEST_SUITE_P(EmulatedSm90, RandomSm90, testing::Range<std::uint64_t>(1, 9));

TEST(EmulatedSm90, reads_and_writes_any_strides) {
    // Rows that the copy engine can read; those that it cannot, by address and by stride.
    every_tile("b=2,h=4/2,q=150,k=200,d=64,causal", {.gap = 8});
    every_tile("b=2,h=4/2,q=150,k=200,d=64,causal", {.gap = 0, .offset = 1});
    every_tile("b=2,h=2,q=70,k=150,d=128,dtype=fp16", {.gap = 3});
    every_tile("b=3,h=2,q=7;140;1,k=100;217;7,d=72,causal", {.gap = 5, .offset = 3});
}

// A tile of rows that is not full has warpgroups without any: nothing of Q is fetched for them.
TEST(EmulatedSm90, fetches_the_rows_that_there_are_once) {
    const Kernel& kernel = find_kernel("prefill_sm90");
    const Workload w = parse_shape("b=1,h=4,q=64,k=64,d=64");
    const std::int64_t column = 2 * 64;  // bytes of 64 rows or keys
    int ran = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, small_hopper(2)).empty()) {
            const TileFields fields = kernel.tile(tile);
            const auto keys = std::ranges::find(fields, "keys", &TileFields::value_type::first);
            ASSERT_NE(keys, fields.end());
            const std::int64_t before = test::Machine::get().copied_bytes();
            run(w, tile, small_hopper(2), {});
            EXPECT_EQ(test::Machine::get().copied_bytes() - before,
                      4 * column * (64 + 2 * keys->second))
                << kernel.tile_text(tile);
            ++ran;
        }
    }
    EXPECT_GT(ran, 0);
}

TEST(EmulatedSm90, keys_behind_the_used_length_do_not_count) {
    const Workload w = parse_shape("b=2,h=2,q=40,k=200,d=64,causal");
    const Inputs in = make_inputs(w, {.seed = 3});
    Workload used = w;
    used.seqlens_q = {40, 40};
    used.seqlens_k = {200, 130};
    // The oracle sees the packed form of the same cache; the kernel the cache, NaN behind its end.
    Inputs packed = make_inputs(used, {.seed = 3});
    const std::size_t token = 2 * 64 * 2;
    std::vector<std::byte> k(2 * 200 * token, std::byte{0xff}), v = k;
    for (int b = 0; b < 2; ++b) {
        const std::size_t from = b == 0 ? 0 : 200 * token;
        const std::size_t bytes = (b == 0 ? 200 : 130) * token;
        std::memcpy(k.data() + b * 200 * token, packed.k.data() + from, bytes);
        std::memcpy(v.data() + b * 200 * token, packed.v.data() + from, bytes);
    }
    const std::vector<std::int32_t> lengths{200, 130};
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
    const Kernel& kernel = find_kernel("prefill_sm90");
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (kernel.why_not(w, tile, small_hopper(2)).empty()) {
            std::vector<std::byte> workspace(64, std::byte{0xff});
            kernel.launch(args, tile, small_hopper(2), workspace.data(), nullptr);
            const Correctness c = judge(used, packed, kernel.precision(w), out, lse, 3);
            EXPECT_TRUE(c.passed) << kernel.tile_text(tile) << ": " << c.why;
        }
    }
}

// Keys are walked last to first: where the first ones are far larger, a block's probabilities
// cannot be taken relative to what was seen before, and its scores are multiplied once more by
// mma.sync.
TEST(EmulatedSm90, scores_that_rise_far_are_multiplied_again) {
    const Kernel& kernel = find_kernel("prefill_sm90");
    for (const char* shape : {"b=1,h=2,q=130,k=700,d=64", "b=1,h=2,q=300,k=400,d=128,causal",
                              "b=1,h=1,q=70,k=500,d=256,dtype=fp16,causal"}) {
        const Workload w = parse_shape(shape);
        const auto larger = [&](Inputs& in) {
            auto* k = reinterpret_cast<std::uint16_t*>(in.k.data());
            const auto row = static_cast<std::size_t>(w.heads_kv * w.headdim);
            const int bits = w.dtype == DType::fp16 ? 10 : 7;
            for (std::size_t i = 0; i < 200 * row; ++i) {
                // Times 8 or 16: added to the exponents of what is no tiny number.
                const int times = i / row < 100 ? 4 : 3;
                if ((k[i] & 0x7fff) >> bits > 8) {
                    k[i] = static_cast<std::uint16_t>(k[i] + (times << bits));
                }
            }
        };
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, small_hopper(2)).empty()) {
                const std::uint64_t before = test::Ampere::get().products();
                const Correctness c = run(w, tile, small_hopper(2), {}, larger);
                EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
                EXPECT_GT(test::Ampere::get().products(), before) << kernel.tile_text(tile);
            }
        }
    }
}

// Of a few keys the maximum is low: where the block behind a diagonal is taken relative to it, the
// first of a warpgroup's warps mostly outgrows the limit and holds up the others. A thread takes
// two logarithms to lower its rows, and two where they end.
TEST(EmulatedSm90, rows_behind_a_diagonal_seldom_lower_their_next_block) {
    const Kernel& kernel = find_kernel("prefill_sm90");
    const Workload w = parse_shape("b=1,h=12,q=64,k=128,d=128,causal");
    const Inputs in = make_inputs(w, {.seed = 11, .draw = Draw::plain});
    constexpr std::uint64_t warp = 2 * 32;
    int ran = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        // With blocks of 64 keys the diagonal's is a square.
        if (kernel.why_not(w, tile, small_hopper(2)).empty() &&
            kernel.tile_text(tile).find("keys=64") != std::string::npos) {
            const std::uint64_t before = ptx::lg2_approx_calls;
            const Correctness c =
                run(w, tile, small_hopper(2), {}, [&](Inputs& given) { given = in; });
            EXPECT_TRUE(c.passed) << kernel.tile_text(tile) << ": " << c.why;
            const std::uint64_t ends = 12 * 4 * warp;
            const std::uint64_t calls = ptx::lg2_approx_calls - before;
            EXPECT_GE(calls, ends) << kernel.tile_text(tile);
            EXPECT_LE(calls, ends + 2 * warp) << kernel.tile_text(tile);
            ++ran;
        }
    }
    EXPECT_GT(ran, 0);
}

// Relative to the first block's maximum, the error would be 1.23 to 1.25 times that of a softmax
// that knows the row's.
TEST(EmulatedSm90, peaked_logits_are_nearly_as_exact_as_beside_the_maximum) {
    test::expect_nearly_as_exact_as_beside_the_maximum(
        find_kernel("prefill_sm90"), "b=1,h=2,q=256,k=512,d=128,dtype=bf16", small_hopper(3), 1.2,
        [](const Workload& w, int tile, const Inputs& in) {
            return run(w, tile, small_hopper(3), {}, [&](Inputs& given) { given = in; });
        });
}

}  // namespace
}  // namespace raceline
