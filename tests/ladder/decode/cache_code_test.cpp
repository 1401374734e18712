// SPDX-License-Identifier: Apache-2.0
// The machine code of the rungs that come after gqa_scorestationary: other caches, other engines.
#include "tests/ladder/decode/code_case.hpp"

namespace raceline {
namespace {

using namespace test;

// Instructions of a round of the loop over tiles besides the loop over keys in it, and of the loop
// that decodes K in its first round and V in its second.
struct Staging {
    double all, decoding;
};
Staging staging_of(const Code& code, const Code& keys) {
    std::size_t longest = 0, decoding = 0;
    for (const Code& loop : test::loops_of(code)) {
        const bool shuffles = test::count_if(loop, [](auto i) { return i.is_shuffle(); }) > 0;
        const int permutes = test::count_if(loop, [](auto i) { return i.is_permute(); });
        longest = std::max(longest, loop.size());
        decoding = !shuffles && permutes > 100 ? loop.size() : decoding;
    }
    return {static_cast<double>(longest - keys.size()), static_cast<double>(decoding)};
}

TEST_F(DecodeCode, gqa_scorestationary_reduces_once_for_32_keys) {
    const RungCode code("gqa_scorestationary");
    for (const Packed& variant : packed_halves()) {
        expect_score_stationary(code, find_kernel("gqa_scorestationary"), variant, h200);
        EXPECT_GE(loads_under_way(code.function(variant.mangled)), 8) << variant.mangled;
    }
}

TEST_F(DecodeCode, fp8_kv_converts_on_the_way) {
    const RungCode code("fp8_kv");
    const Kernel& kernel = find_kernel("fp8_kv");
    for (const Packed& variant : packed_halves(",kv=e4m3")) {
        expect_score_stationary(code, kernel, variant, h200);
        const Code whole = code.function(variant.mangled);
        EXPECT_GE(loads_under_way(whole), 8) << variant.mangled;
        const Code keys = loop_with_shuffles(whole, 5 * variant.rows);
        const auto converts = [](auto i) { return i.unpacks_e4m3(); };
        // Eight loads of sixteen elements, two a conversion; the loop over keys sees halves.
        EXPECT_EQ(test::count_if(whole, converts), 64) << variant.mangled;
        EXPECT_EQ(test::count_if(keys, converts), 0) << variant.mangled;
    }
    EXPECT_EQ(code.functions().size(), 8U + 2U) << "eight packings and two merges, no cast";
    const Counts c =
        kernel.counts(parse_shape("h=8/1,d=128,q=1,k=8192,dtype=fp16,kv=e4m3"), 0, h200).front();
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), 8 * 128 * 2 + 2.0 * 8192 * 128);
}

TEST_F(DecodeCode, nvfp4_kv_looks_codes_up) {
    const RungCode code("nvfp4_kv");
    const Kernel& kernel = find_kernel("nvfp4_kv");
    for (const Packed& variant : packed_halves(",kv=nvfp4")) {
        expect_score_stationary(code, kernel, variant, h200);
        const Code whole = code.function(variant.mangled);
        EXPECT_GE(loads_under_way(whole), 8) << variant.mangled;
        // Four loads of four words of eight codes, twice. A word is two permutes for magnitudes,
        // two for signs and four that make pairs, then four multiplications.
        const auto permutes = [](auto i) { return i.is_permute(); };
        EXPECT_GE(test::count_if(whole, permutes), 4 * 4 * 8);
        EXPECT_GE(test::count_if(whole, [](auto i) { return i.multiplies_halves(); }), 4 * 4 * 2);
        // Both scales of a load at once, and nothing else converts.
        EXPECT_EQ(test::count_if(whole, [](auto i) { return i.unpacks_e4m3(); }), 4);
        const Code keys = loop_with_shuffles(whole, 5 * variant.rows);
        EXPECT_EQ(test::count_if(keys, [](auto i) { return i.unpacks_e4m3(); }), 0);
        EXPECT_LE(test::count_if(keys, permutes), 1);
        const Staging staging = staging_of(whole, keys);
        const double executed = staging.all + staging.decoding;
        const auto launches = kernel.counts(parse_shape(variant.shape + ",q=1,k=4096"), 0, h200);
        for (const Step& step : launches.front().steps) {
            if (step.name == "stage") {
                EXPECT_NEAR(step.work.at("op.issue") / 128, executed, 0.06 * executed);
            }
        }
    }
    EXPECT_EQ(code.functions().size(), 8U + 2U) << "eight packings and two merges, no cast";
    const Counts c =
        kernel.counts(parse_shape("h=8/1,d=128,q=1,k=8192,dtype=fp16,kv=nvfp4"), 0, h200).front();
    EXPECT_DOUBLE_EQ(c.work.at("byte.dram_read"), 8 * 128 * 2 + 2.0 * 8192 * 128 * 0.5625);
}

// A key is read once for all rows and both products: two loads of 16 bytes and one of four.
TEST_F(DecodeCode, mla_reads_the_latent_once) {
    const RungCode code("mla");
    const Kernel& kernel = find_kernel("mla");
    for (const int rows : {1, 2, 4}) {
        const std::string mangled = "7partialILi" + std::to_string(rows) + "E";
        const Workload w =
            parse_shape("q=1,k=4096,mla=512+64,dtype=fp16,h=" + std::to_string(rows));
        EXPECT_EQ(kernel.counts(w, 0, h200).front().registers, code.report(mangled).registers);
        const Code loop = loop_with_shuffles(code.function(mangled), 5 * rows);
        EXPECT_EQ(test::count_if(loop, [](auto i) { return i.loads_shared(); }), 3) << mangled;
        EXPECT_GE(test::count_if(loop, [](auto i) { return i.is_fma(); }), (18 + 16) * rows);
        EXPECT_NEAR(declared_per_round(kernel, w, h200) / 2, static_cast<double>(loop.size()),
                    0.03 * static_cast<double>(loop.size()))
            << mangled;
        EXPECT_GE(loads_under_way(code.function(mangled)), 6) << mangled;
    }
    const auto launches =
        kernel.counts(parse_shape("h=128,q=1,k=8192,mla=512+64,dtype=fp16"), 0, h200);
    EXPECT_EQ(launches.at(1).registers, code.report("5merge").registers);
    // Four CTAs share a split's keys, and each reads them: three times out of the L2.
    EXPECT_DOUBLE_EQ(launches[0].work.at("byte.dram_read"), 128 * 576 * 2 + 8192.0 * 576 * 2);
    EXPECT_DOUBLE_EQ(launches[0].reread.at(1).bytes, 3 * 8192.0 * 576 * 2);
}

// A tile: 576 columns of scores in steps of 16, 64 keys of values in steps of 16, and behind the
// first products the copies of the next tile.
TEST_F(DecodeCode, mla_tensor_multiplies_on_the_matrix_engine) {
    const RungCode code("mla_tensor");
    const Kernel& kernel = find_kernel("mla_tensor");
    const Workload w = parse_shape("h=128,q=1,k=8192,mla=512+64,dtype=fp16");
    const auto launches = kernel.counts(w, 0, h200);
    EXPECT_EQ(launches.at(0).registers, code.report("7partial").registers);
    EXPECT_EQ(launches.at(1).registers, code.report("5merge").registers);
    Code tile;
    for (const Code& loop : test::loops_of(code.function("7partial"))) {
        tile = loop.size() > tile.size() ? loop : tile;
    }
    EXPECT_EQ(test::count_if(tile, [](auto i) { return i.is_group_product(); }), 36 + 4);
    EXPECT_EQ(test::count_if(tile, [](auto i) { return i.copies_global_to_shared(); }), 18);
    EXPECT_EQ(test::count_if(tile, [](auto i) { return i.loads_global_16_bytes(); }), 0);
    double declared = 0;
    for (const Step& step : launches[0].steps) {
        if (step.name == "scores" || step.name == "softmax" || step.name == "values") {
            declared += step.work.at("op.issue") / launches[0].threads;
        }
    }
    EXPECT_NEAR(declared, static_cast<double>(tile.size()),
                0.03 * static_cast<double>(tile.size()));
    EXPECT_DOUBLE_EQ(launches[0].work.at("flop.wgmma.fp16"), 2 * 128 * 8192.0 * (576 + 512));
    EXPECT_DOUBLE_EQ(launches[0].work.at("byte.dram_read"), 128 * 576 * 2 + 8192.0 * 576 * 2);
}

}  // namespace
}  // namespace raceline
