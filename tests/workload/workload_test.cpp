// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

/// The definition, pair by pair: key j of row i, both counted from the end.
bool sees(const Workload& w, std::int64_t b, std::int64_t i, std::int64_t j) {
    const std::int64_t distance = (w.length_q(b) - i) - (w.length_k(b) - j);  // j - aligned i
    if (w.mask == Mask::causal && distance > 0) {
        return false;
    }
    if (w.window && w.window->left >= 0 && distance < -w.window->left) {
        return false;
    }
    return !w.window || w.window->right < 0 || distance <= w.window->right;
}

TEST(Workload, RangesAndCountsFollowTheDefinition) {
    for (const char* mask : {"", ",causal", ",window=3", ",window=0", ",window=2:4",
                             ",window=inf:1", ",causal,window=5:2", ",window=100:100"}) {
        for (const char* lengths : {"q=7,k=12", "q=12,k=7", "q=1,k=9", "q=9,k=0", "q=0,k=9",
                                    "q=3;8;1,k=5;2;0", "q=6,k=6;1"}) {
            const Workload w =
                parse_shape(std::string("h=6/2,d=16/8,dtype=fp32,") + lengths + mask);
            double pairs = 0;
            double seen_keys = 0;
            for (std::int64_t b = 0; b < w.batch; ++b) {
                std::vector<bool> seen(w.length_k(b), false);
                for (std::int64_t i = 0; i < w.length_q(b); ++i) {
                    const auto [first, last] = w.visible(b, i);
                    for (std::int64_t j = 0; j < w.length_k(b); ++j) {
                        EXPECT_EQ(j >= first && j < last, sees(w, b, i, j))
                            << format_shape(w) << " b " << b << " i " << i << " j " << j;
                        pairs += sees(w, b, i, j) ? 1 : 0;
                        seen[j] = seen[j] || sees(w, b, i, j);
                    }
                }
                seen_keys += static_cast<double>(std::count(seen.begin(), seen.end(), true));
            }
            EXPECT_EQ(w.visited_pairs(), pairs) << format_shape(w);
            EXPECT_EQ(w.flops(), 2 * 24 * 6 * pairs);
            EXPECT_EQ(w.bytes_kv(), seen_keys * 2 * 24 * 4) << format_shape(w);
        }
    }
}

TEST(Workload, HandCounted) {
    const Workload full = parse_shape("b=2,h=8,k=512,d=64,dtype=fp16");
    EXPECT_EQ(full.flops(), 4.0 * 2 * 8 * 512 * 512 * 64);
    EXPECT_EQ(full.bytes_q(), 2.0 * 512 * 8 * 64 * 2);
    EXPECT_EQ(full.bytes_kv(), 2 * full.bytes_q());
    EXPECT_EQ(parse_shape("h=1,k=512,d=64,causal").visited_pairs(), 512 * 513 / 2);
    // One latent for all heads, read once.
    EXPECT_EQ(parse_shape("h=128,q=1,k=100,mla=512+64").bytes_kv(), 100 * 576 * 2);
    EXPECT_DOUBLE_EQ(full.scale_value(), 0.125);
}

TEST(Workload, LongLengthsNeedNoLoop) {
    const Workload w = parse_shape("h=1,k=2147483647,d=8,causal");
    const double n = 2147483647.0;
    EXPECT_DOUBLE_EQ(w.visited_pairs(), n * (n + 1) / 2);
}

TEST(Workload, ValidationNamesTheRule) {
    const auto refused = [](auto change) {
        Workload w;
        change(w);
        try {
            validate(w);
        } catch (const Error& error) {
            return error.status() == Status::invalid_argument &&
                   std::string(error.what()).size() > 8;
        }
        return false;
    };
    EXPECT_NO_THROW(validate(Workload{}));
    EXPECT_TRUE(refused([](Workload& w) { w.seqlen_q = -1; }));
    EXPECT_TRUE(refused([](Workload& w) { w.seqlens_k = {-1}; }));
    EXPECT_TRUE(refused([](Workload& w) { w.seqlens_k = {5}; }));  // the longest is said to be 1
    EXPECT_TRUE(refused([](Workload& w) { w.headdim = 1025; }));
    EXPECT_TRUE(refused([](Workload& w) { w.page_size = -1; }));
    EXPECT_TRUE(refused([](Workload& w) { w.window = Window{-2, 0}; }));
    EXPECT_TRUE(refused([](Workload& w) { w.softcap = std::nan(""); }));
    EXPECT_TRUE(refused([](Workload& w) { w.softcap = -1; }));
    EXPECT_TRUE(refused([](Workload& w) { w.scale = 0; }));
    EXPECT_TRUE(refused([](Workload& w) { w.kv_dtype = DType::fp32; }));
    EXPECT_TRUE(refused([](Workload& w) {
        w.mla = true;
        w.headdim_v = 65;
    }));
}

}  // namespace
}  // namespace raceline
