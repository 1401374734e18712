// SPDX-License-Identifier: Apache-2.0
// decode_sm90's own source on an emulated SM, judged by the gate. The cuts between CTAs fall
// elsewhere with every number of SMs, so each call runs with several.
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "tests/kernels/emulated_sm90/in_front.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

class DecodeSm90 : public testing::TestWithParam<std::string> {};

TEST_P(DecodeSm90, passes_the_gate_wherever_its_parts_end) {
    const Workload w = parse_shape(GetParam());
    const Kernel& kernel = find_kernel("decode_sm90");
    CaseOptions options;
    options.seed = 5;
    options.draws = {Draw::outliers, Draw::non_finite};
    int checked = 0;
    for (const int units : {1, 2, 5}) {
        const auto backend = make_cpu_backend(test::small_hopper_gpu(units));
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, backend->device()).empty()) {
                const Correctness verdict = backend->check(kernel, tile, w, options);
                EXPECT_TRUE(verdict.passed)
                    << units << " SMs, " << kernel.tile_text(tile) << ": " << verdict.why;
                ++checked;
            }
        }
    }
    EXPECT_GE(checked, 3);
}

// Copies piece by piece, queries and outputs by elements.
TEST(EmulatedDecodeSm90, takes_any_strides_and_addresses) {
    const Kernel& kernel = find_kernel("decode_sm90");
    int checked = 0;
    for (const char* shape :
         {"b=2,h=4/2,q=2,k=150,d=64,dtype=bf16,causal", "b=1,h=4/1,q=1,k=70,d=128,dtype=fp16",
          "b=2,h=4/2,q=1,k=90;33,d=64,dtype=bf16,kv=e4m3,page=16",
          "b=1,h=8,q=1,k=100,d=48/32,dtype=bf16", "b=1,h=8,q=2,k=150,d=96,dtype=fp16,kv=e4m3"}) {
        const Workload w = parse_shape(shape);
        const Device device = test::small_hopper_gpu(2);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            for (const test::Gaps gaps :
                 {test::Gaps{1, 1}, test::Gaps{2, 0}, test::Gaps{0, 3}, test::Gaps{16, 0}}) {
                if (kernel.why_not(w, tile, device).empty()) {
                    const Correctness verdict =
                        test::run_emulated(kernel, w, tile, device, Draw::outliers, gaps);
                    EXPECT_TRUE(verdict.passed) << shape << ' ' << kernel.tile_text(tile) << ' '
                                                << gaps.behind << ": " << verdict.why;
                    ++checked;
                }
            }
        }
    }
    EXPECT_EQ(checked, 56);
}

// So large a cap leaves scores as they are: the products times their scale.
TEST(EmulatedDecodeSm90, takes_a_softcap_whose_quotient_is_no_float) {
    for (const char* shape : {"h=2,q=1,k=100,d=64,dtype=fp16,scale=1e-30,softcap=1e20",
                              "h=2,q=1,k=100,d=64,dtype=fp16,softcap=1e37",
                              "h=2,q=1,k=100,d=64,dtype=fp16,softcap=3e38"}) {
        const Correctness verdict = test::run_emulated(
            find_kernel("decode_sm90"), parse_shape(shape), 0, test::small_hopper_gpu(2));
        EXPECT_TRUE(verdict.passed) << shape << ": " << verdict.why;
    }
}

// Which tile runs depends on the longest context, the workspace does not.
TEST(EmulatedDecodeSm90, needs_one_workspace_for_contexts_of_all_lengths) {
    const Kernel& kernel = find_kernel("decode_sm90");
    const Device device = test::small_hopper_gpu(132);
    for (const char* heads :
         {"h=32/8,d=128,dtype=bf16", "h=32/8,d=128,dtype=bf16,kv=e4m3", "h=8,d=64,dtype=fp16",
          "h=8/2,d=128,dtype=bf16,kv=e4m3,scales=token"}) {
        std::set<std::size_t> sizes;
        for (const int keys : {1, 64, 1024, 131072}) {
            const Workload w =
                parse_shape(std::string("q=1,k=") + std::to_string(keys) + ',' + heads);
            for (int tile = 0; tile < kernel.tile_count(); ++tile) {
                if (kernel.why_not(w, tile, device).empty()) {
                    sizes.insert(kernel.workspace(w, tile, device));
                }
            }
        }
        EXPECT_EQ(sizes.size(), 1U) << heads;
    }
}

// A warp has 32 lanes, which look at as many parts at a time.
TEST(EmulatedDecodeSm90, combines_more_parts_than_a_warp_has_lanes) {
    const Kernel& kernel = find_kernel("decode_sm90");
    const Device device = test::small_hopper_gpu(37);
    int checked = 0;
    for (const char* shape :
         {"b=1,h=16/1,q=1,k=9600,d=128,dtype=bf16", "b=1,h=3/1,q=1,k=9600,d=64,dtype=fp16,sinks",
          "b=1,h=2/1,q=1,k=19100,d=128,dtype=bf16,kv=e4m3", "b=1,h=2/1,q=1,k=5000,d=256,dtype=bf16",
          "b=1,h=8/8,q=1,k=9600,d=64,dtype=bf16"}) {
        const Workload w = parse_shape(shape);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                const Correctness verdict = test::run_emulated(kernel, w, tile, device);
                EXPECT_TRUE(verdict.passed)
                    << shape << ' ' << kernel.tile_text(tile) << ": " << verdict.why;
                ++checked;
            }
        }
    }
    EXPECT_EQ(checked, 11);
}

// The launch in front may write lengths until it ends; what a CTA planned before counts no more.
TEST(EmulatedDecodeSm90, plans_again_where_lengths_were_still_written) {
    using Before = std::uint32_t (*)(std::uint32_t);
    const Before all[] = {[](std::uint32_t) { return 0U; },
                          [](std::uint32_t after) { return after / 2 + 3; },
                          [](std::uint32_t after) { return 1200 - after % 1000; },
                          [](std::uint32_t after) { return ~after; }};
    const Kernel& kernel = find_kernel("decode_sm90");
    const Device device = test::small_hopper_gpu(5);
    int checked = 0;
    for (const char* shape :
         {"b=3,h=8/2,q=1,k=900;20;1100,d=64,dtype=bf16,page=16",
          "b=33,h=4/2,q=1,k=50,d=64,dtype=bf16,page=16", "h=4/1,q=1,k=20;900,d=128,dtype=bf16",
          "h=4/2,q=3;0;1,k=40;9;700,d=128,dtype=fp16,kv=e4m3,causal"}) {
        const Workload w = parse_shape(shape);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            for (const Before before : all) {
                if (kernel.why_not(w, tile, device).empty()) {
                    test::in_front = {.before = before};
                    const Correctness verdict = test::run_emulated(kernel, w, tile, device);
                    EXPECT_TRUE(verdict.passed)
                        << shape << ' ' << kernel.tile_text(tile) << ": " << verdict.why;
                    EXPECT_NE(test::in_front.last_waited, ~0U);
                    ++checked;
                }
            }
        }
    }
    test::in_front = {};
    EXPECT_EQ(checked, 36);
}

// The same of more sequences than a warp has lanes, each cut by itself.
TEST(EmulatedDecodeSm90, plans_many_sequences_again_where_lengths_were_still_written) {
    using Before = std::uint32_t (*)(std::uint32_t);
    const Before all[] = {[](std::uint32_t after) { return after / 2 + 3; },
                          [](std::uint32_t after) { return ~after; }};
    const Kernel& kernel = find_kernel("decode_sm90");
    const Device device = test::small_hopper_gpu(40);
    const Workload w = parse_shape("b=33,h=1,q=1,k=80,d=64,dtype=bf16,page=16");
    ASSERT_EQ(kernel.why_not(w, 0, device), "");
    for (const Before before : all) {
        test::in_front = {.before = before};
        const Correctness verdict = test::run_emulated(kernel, w, 0, device);
        EXPECT_TRUE(verdict.passed) << verdict.why;
    }
    test::in_front = {};
}

/// Whatever a workspace holds at first: nothing, NaN, any words, small numbers.
std::vector<std::byte> workspace_of(std::size_t bytes, int what) {
    std::vector<std::byte> memory(bytes, what == 0 ? std::byte{0} : std::byte{0xFF});
    std::mt19937_64 random(11);
    for (std::size_t at = 0; what >= 2 && at + 8 <= bytes; at += 8) {
        const std::uint64_t word = what == 2 ? random() : random() % 8;
        std::memcpy(memory.data() + at, &word, 8);
    }
    return memory;
}

// A workspace is not cleared between calls: what one leaves in it must not count in the next, and a
// graph's replays have other lengths.
TEST(EmulatedDecodeSm90, finds_its_workspace_as_any_call_left_it) {
    const Kernel& kernel = find_kernel("decode_sm90");
    const Device device = test::small_hopper_gpu(5);
    int checked = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        const auto field = [&](std::string_view name) {
            for (const auto& [its_name, value] : kernel.tile(tile)) {
                if (its_name == name) {
                    return value;
                }
            }
            return std::int64_t{-1};
        };
        const auto kv = std::max<std::int64_t>(field("together"), 1);
        const std::string kind = ",d=" + std::to_string(field("headdim")) + ",dtype=bf16" +
                                 (field("eight_bits") == 1 ? ",kv=e4m3" : "") +
                                 (field("token_scales") == 1 ? ",scales=token" : "") + ",page=16";
        const std::string heads = std::to_string(8 * kv) + "/" + std::to_string(2 * kv);
        for (const int what : {0, 1, 2, 3}) {
            if (what < 3 && tile > 0) {
                continue;  // all ways at the first tile, one at the others
            }
            std::vector<std::byte> workspace;
            for (const std::string& sizes :
                 {"b=2,q=1,k=900;20,h=" + heads, "b=2,q=1,k=20;900,h=" + heads,
                  "b=1,q=1,k=1700,h=" + heads, "b=3,q=1,k=1;0;1100,h=" + heads,
                  "b=1,q=5,k=1500,h=" + std::to_string(4 * kv) + "/" + std::to_string(kv)}) {
                const Workload w = parse_shape(sizes + kind);
                ASSERT_EQ(kernel.why_not(w, tile, device), "") << sizes << kind;
                if (workspace.empty()) {
                    workspace = workspace_of(kernel.workspace(w, tile, device), what);
                }
                const Correctness verdict =
                    test::run_emulated(kernel, w, tile, device, Draw::outliers, {}, workspace);
                EXPECT_TRUE(verdict.passed)
                    << kernel.tile_text(tile) << ' ' << sizes << ": " << verdict.why;
                ++checked;
            }
        }
    }
    EXPECT_EQ(checked, 5 * (kernel.tile_count() + 3));
}

INSTANTIATE_TEST_SUITE_P(
    Emulated, DecodeSm90,
    testing::Values(
        // Contiguous, a group and none, one key, more units than CTAs and fewer.
        "b=1,h=8/2,q=1,k=700,d=128,dtype=bf16", "b=2,h=3,q=1,k=333,d=64,dtype=fp16",
        "b=1,h=4/1,q=1,k=1,d=128,dtype=fp16", "b=5,h=8/4,q=1,k=65,d=128,dtype=bf16",
        "b=1,h=8/1,q=1,k=1000,d=256,dtype=bf16",
        // Rows of two tiles, more tokens, with a mask and without, more queries than keys.
        "b=1,h=12/2,q=4,k=300,d=64,dtype=bf16,causal", "b=2,h=8/2,q=16,k=90,d=128,dtype=fp16",
        "b=1,h=4/2,q=16,k=9,d=64,dtype=fp16,causal", "b=1,h=2,q=3,k=0,d=128,dtype=bf16",
        // Windows, sinks, softcap, padded head dims.
        "b=2,h=4/2,q=2,k=400,d=64,dtype=bf16,window=50", "b=1,h=4,q=1,k=200,d=128,dtype=fp16,sinks",
        "b=1,h=4/2,q=3,k=150,d=64,dtype=bf16,causal,softcap=20,sinks",
        "b=1,h=4/2,q=1,k=211,d=80/72,dtype=bf16", "b=1,h=2,q=2,k=100,d=40,dtype=fp16,causal",
        // Lengths that differ, none among them; packed; in pages, also of odd sizes.
        "b=4,h=4/2,q=1,k=0;700;1;64,d=128,dtype=bf16,page=64",
        // Equal lengths on the device: fewer units than CTAs, and more.
        "b=3,h=4/1,q=1,k=300,d=64,dtype=bf16,page=16",
        "b=5,h=8/4,q=1,k=200,d=128,dtype=bf16,page=16",
        // More than 31 sequences are planned from shared memory.
        "b=40,h=4/2,q=1,k=50,d=64,dtype=bf16,page=16",
        "b=34,h=2/"
        "1,q=1,k=1;21;55;42;43;58;26;8;4;14;38;15;6;11;30;2;49;49;2;30;11;6;15;38;14;4;8;26;58;43;"
        "42;200;0;90,d=128,dtype=bf16,kv=e4m3,page=64",
        "b=3,h=8/2,q=1,k=100;517;7,d=64,dtype=fp16,page=16",
        "b=3,h=4/2,q=2,k=100;51;7,d=128,dtype=bf16,page=7,causal",
        "b=3,h=4/2,q=3;0;1,k=40;9;120,d=64,dtype=bf16,causal", "b=40,h=2,q=1,k=30,d=64,dtype=fp16",
        // More units than CTAs, most of them short: parts begin and end in pads.
        "b=7,h=8/2,q=1,k=1500;30;40;0;20;35;64,d=64,dtype=bf16",
        "b=6,h=4/2,q=1,k=20;33;2000;1;90;10,d=128,dtype=fp16,page=16",
        // Tiles of rows that each sequence has by its own tokens.
        "b=6,h=8/1,q=1;16;0;3;1;2,k=300;50;9;700;30;64,d=64,dtype=bf16,causal",
        "b=5,h=12/2,q=9;1;1;4;1,k=60;800;20;33;5,d=128,dtype=bf16,kv=e4m3,causal,page=64",
        // KV heads side by side, as many as a CTA has warps and twice as many: units that several
        // CTAs read, whole ones, rows of two tiles, lengths of 0.
        "b=2,h=8,q=1,k=333,d=64,dtype=fp16,sinks", "b=1,h=32/16,q=1,k=700,d=64,dtype=bf16",
        "b=3,h=16/8,q=9;1;2,k=100;0;700,d=64,dtype=bf16,causal,page=16",
        "b=3,h=16/8,q=2,k=100;51;400,d=64,dtype=bf16,kv=e4m3,causal,page=64",
        "b=1,h=8/4,q=1,k=900,d=128,dtype=bf16,kv=e4m3",
        "b=4,h=16/8,q=3;0;1;5,k=40;9;120;600,d=128,dtype=fp16,kv=e4m3,causal",
        // A cache in e4m3.
        "b=1,h=8/2,q=1,k=700,d=128,dtype=bf16,kv=e4m3",
        "b=2,h=8/2,q=1,k=100;333,d=128,dtype=fp16,kv=e4m3,page=16",
        "b=2,h=4/1,q=5,k=200,d=64,dtype=bf16,kv=e4m3,causal",
        "b=1,h=4/2,q=1,k=300,d=256,dtype=bf16,kv=e4m3,page=64",
        "b=1,h=4/2,q=2,k=170,d=96,dtype=fp16,kv=e4m3,window=30",
        // A scale for each token: in pieces of four and one by one (odd lengths, packed batches,
        // pages of odd sizes), heads one by one and side by side, masks, an empty sequence.
        "b=1,h=8/2,q=1,k=700,d=128,dtype=bf16,kv=e4m3,scales=token",
        "b=2,h=8/2,q=1,k=333,d=128,dtype=fp16,kv=e4m3,scales=token",
        "b=3,h=16/8,q=2,k=100;0;400,d=64,dtype=bf16,kv=e4m3,scales=token,causal,page=64",
        "b=2,h=4/2,q=3;1,k=300;77,d=64,dtype=fp16,kv=e4m3,scales=token,causal,softcap=20,sinks",
        "b=2,h=4/2,q=2,k=400,d=96,dtype=bf16,kv=e4m3,scales=token,window=50",
        "b=3,h=4/2,q=2,k=100;51;7,d=128,dtype=bf16,kv=e4m3,scales=token,page=7,causal",
        "b=1,h=4/2,q=1,k=300,d=256,dtype=fp16,kv=e4m3,scales=token,page=16"));

}  // namespace
}  // namespace raceline
