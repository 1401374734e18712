// SPDX-License-Identifier: Apache-2.0
// simt's integer arithmetic against the one on the host, and its counts against hand counting.
#include <gtest/gtest.h>
#include <vector>

#include "device/catalog.hpp"
#include "kernels/simt/index.hpp"
#include "kernels/simt/plan.hpp"
#include "registry/registry.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

namespace simt = kernels::simt;

TEST(SimtIndex, visible_keys_are_those_of_the_workload) {
    for (const char* shape :
         {"q=7,k=7", "q=7,k=7,causal", "q=3,k=11,causal", "q=11,k=3,causal", "q=9,k=20,window=4",
          "q=9,k=20,window=4,causal", "q=20,k=9,window=2", "q=4,k=0,causal"}) {
        const Workload w = parse_shape(std::string("b=1,h=1,d=64,") + shape);
        const Problem s = problem_of(w);
        const simt::Band band{static_cast<int>(w.seqlen_q), static_cast<int>(w.seqlen_k),
                              static_cast<int>(s.window.left), static_cast<int>(s.window.right)};
        for (int i = 0; i < w.seqlen_q; ++i) {
            const Workload::KeyRange expected = w.visible(0, i);
            const simt::Keys got = band.visible(i);
            if (expected.first >= expected.last) {
                EXPECT_EQ(got.count(), 0) << shape << " row " << i;
            } else {
                EXPECT_EQ(got.first, expected.first) << shape << " row " << i;
                EXPECT_EQ(got.last, expected.last) << shape << " row " << i;
            }
        }
    }
}

TEST(SimtIndex, splits_partition_the_keys) {
    for (int first : {0, 5}) {
        for (int count : {0, 1, 63, 64, 65, 1000}) {
            for (int splits : {1, 2, 3, 7, 20}) {
                const simt::Keys all{first, first + count};
                int next = first;
                for (int split = 0; split < splits; ++split) {
                    const simt::Keys part = simt::split_keys(all, split, splits, 64);
                    EXPECT_EQ(part.first, next);
                    EXPECT_GE(part.count(), 0);
                    next = part.last;
                }
                EXPECT_EQ(next, all.last) << count << " keys in " << splits;
            }
        }
    }
}

TEST(SimtIndex, every_block_is_named_once_and_the_last_rows_come_first) {
    std::vector<int> seen(5 * 3 * 2 * 4);
    for (int index = 0; index < static_cast<int>(seen.size()); ++index) {
        const simt::Block b = simt::block_of(index, 5, 3, 2, 4);
        ++seen[static_cast<std::size_t>(((b.row_tile * 3 + b.split) * 2 + b.head_kv) * 4 +
                                        b.sequence)];
    }
    for (int times : seen) {
        EXPECT_EQ(times, 1);
    }
    EXPECT_EQ(simt::block_of(0, 5, 3, 2, 4).row_tile, 4);
}

TEST(SimtPlan, splits_follow_the_device_and_not_a_constant) {
    Device device = datasheet_device("h200");
    const auto decode = problem_of(parse_shape("b=1,h=8,q=1,k=65536,d=128,dtype=bf16"));
    const auto whole = simt::make_plan(decode, simt::tiles[0], device);
    device.units /= 2;
    const auto half = simt::make_plan(decode, simt::tiles[0], device);
    EXPECT_GT(whole.splits, 1);
    EXPECT_EQ(whole.splits / 2, half.splits);
    EXPECT_GE(whole.ctas, 132);
    const auto prefill = problem_of(parse_shape("b=4,h=32,q=4096,k=4096,d=128,dtype=bf16"));
    EXPECT_EQ(simt::make_plan(prefill, simt::tiles[5], device).splits, 1);
    EXPECT_EQ(simt::make_plan(prefill, simt::tiles[5], device).workspace_bytes, 0U);
}

// A split beyond what any query sees would be an empty CTA.
TEST(SimtPlan, no_more_splits_than_a_window_has_tiles_of_keys) {
    const Device h200 = datasheet_device("h200");
    const simt::Tile tile = simt::tiles[0];
    for (const char* window : {",causal,window=127", ",window=127:0", ",window=127:7"}) {
        const Workload w = parse_shape(std::string("h=8/8,q=1,k=65536,d=128") + window);
        EXPECT_LE(simt::make_plan(w, tile, h200).splits, 128 / tile.keys + 1) << window;
    }
    EXPECT_GT(simt::make_plan(parse_shape("h=8/8,q=1,k=65536,d=128,causal"), tile, h200).splits,
              128 / tile.keys + 1);
}

TEST(SimtCounts, one_full_tile_by_hand) {
    // 64 rows and 32 keys of head dim 64, one CTA, one tile: nothing is padded.
    Device device = datasheet_device("h200");
    const Workload w = parse_shape("b=1,h=1,q=64,k=32,d=64,dtype=fp32");
    const auto launches = find_kernel("simt").counts(w, 5, device);
    ASSERT_EQ(launches.size(), 1U);
    const Counts& c = launches[0];
    EXPECT_EQ(c.ctas, 1);
    EXPECT_DOUBLE_EQ(c.work.at("flop.fma.fp32"), w.flops());
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), 4.0 * 64 * (64 + 32 + 32));
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_write"), 4.0 * 64 * 64 + 4 * 64);
    EXPECT_DOUBLE_EQ(c.work.at("byte.l2"),
                     c.work.at("byte.dram_read") + c.work.at("byte.dram_write"));
    EXPECT_DOUBLE_EQ(c.reread[0].bytes, 0);
    EXPECT_EQ(c.smem_bytes, 4 * ((64 + 32) * 68 + 32 * 64 + 64 * 40));
}

TEST(SimtCounts, causal_prefill_skips_the_masked_half) {
    const Device device = datasheet_device("h200");
    const Kernel& kernel = find_kernel("simt");
    const auto full =
        kernel.counts(parse_shape("b=1,h=8,q=8192,k=8192,d=64,dtype=bf16"), 5, device);
    const auto half =
        kernel.counts(parse_shape("b=1,h=8,q=8192,k=8192,d=64,dtype=bf16,causal"), 5, device);
    const double ratio = half[0].work.at("flop.fma.fp32") / full[0].work.at("flop.fma.fp32");
    EXPECT_GT(ratio, 0.5);
    EXPECT_LT(ratio, 0.51);
    EXPECT_NEAR(half[0].imbalance, 2, 0.05);
    EXPECT_DOUBLE_EQ(full[0].imbalance, 1);
}

TEST(SimtCounts, the_longest_sequences_are_counted_as_shorter_ones) {
    // Rows up to the last that 31 bits count, of which an index one tile further leaves them.
    const Device device = datasheet_device("h200");
    const Kernel& kernel = find_kernel("simt");
    for (const char* mask : {"", ",causal"}) {
        const auto flops = [&](const std::string& lengths) {
            return kernel.counts(parse_shape("h=1,d=64,dtype=fp32," + lengths + mask), 5, device)[0]
                .work.at("flop.fma.fp32");
        };
        const double wide = 2147483647.0 / (1 << 20);
        EXPECT_NEAR(flops("q=2147483647,k=2147483647") / flops("q=1048576,k=1048576"), wide * wide,
                    1e-3 * wide * wide)
            << mask;
    }
}

TEST(SimtCounts, a_group_reads_its_cache_once) {
    const Device device = datasheet_device("h200");
    const Kernel& kernel = find_kernel("simt");
    const Workload w = parse_shape("b=4,h=32/8,q=1,k=8192,d=128,dtype=bf16");
    const auto c = kernel.counts(w, 0, device);
    EXPECT_DOUBLE_EQ(c[0].reread[0].bytes, 0);
    EXPECT_DOUBLE_EQ(c[0].work.at("byte.dram_read"), w.bytes_q() + w.bytes_kv());
}

TEST(SimtSupports, everything_an_api_call_may_ask) {
    const Device device = datasheet_device("h200");
    const Kernel& kernel = find_kernel("simt");
    for (const char* shape :
         {"d=256,dtype=fp32", "d=7/250,dtype=bf16", "d=192/128,dtype=fp16,causal",
          "d=64,dtype=bf16,softcap=20,sinks,window=128", "d=64,dtype=bf16,page=48",
          "d=128,dtype=bf16,kv=e4m3", "mla=512+64,dtype=bf16"}) {
        const bool mla = std::string(shape).starts_with("mla");
        const Workload w =
            parse_shape(std::string("b=2,q=3,k=100,h=") + (mla ? "8/1," : "8/2,") + shape);
        bool any = false;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            any = any || kernel.why_not(w, tile, device).empty();
        }
        EXPECT_TRUE(any) << shape;
    }
}

}  // namespace
}  // namespace raceline
