// SPDX-License-Identifier: Apache-2.0
#include "workload/inputs.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "support/check.hpp"
#include "workload/normal.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::vector<double> values(const std::vector<std::byte>& bytes, DType dtype) {
    std::vector<double> out(bytes.size() / static_cast<std::size_t>(bytes_of(dtype)));
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = load_element(bytes.data(), dtype, i);
    }
    return out;
}

TEST(Inputs, AreNormalSeededAndDistinct) {
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::e4m3}) {
        const Workload w = parse_shape("h=4,k=512,d=64", dtype);
        const Inputs in = make_inputs(w, {.seed = 3, .draw = Draw::plain});
        for (const auto* bytes : {&in.q, &in.k, &in.v}) {
            double sum = 0;
            double squares = 0;
            double fourth = 0;
            const auto all = values(*bytes, dtype);
            ASSERT_EQ(all.size(), 4U * 512 * 64);
            for (const double x : all) {
                sum += x;
                squares += x * x;
                fourth += x * x * x * x;
            }
            const auto n = static_cast<double>(all.size());
            EXPECT_NEAR(sum / n, 0, 0.015);
            EXPECT_NEAR(squares / n, 1, 0.02);
            EXPECT_NEAR(fourth / n, 3, 0.15);
        }
        EXPECT_NE(in.q, in.k);
        EXPECT_NE(in.k, in.v);
        EXPECT_EQ(in.k, make_inputs(w, {.seed = 3, .draw = Draw::plain}).k);
        EXPECT_NE(in.k, make_inputs(w, {.seed = 4, .draw = Draw::plain}).k);
    }
}

TEST(Inputs, OutliersGiveLogitsALongTail) {
    const Workload w = parse_shape("h=4,q=16,k=512,d=64,dtype=fp32");
    const auto largest = [&](bool outliers) {
        const Inputs in =
            make_inputs(w, {.seed = 1, .draw = outliers ? Draw::outliers : Draw::plain});
        const auto q = values(in.q, w.dtype);
        const auto k = values(in.k, w.dtype);
        double most = 0;
        for (std::size_t row = 0; row < 64; ++row) {
            for (std::size_t j = 0; j < 512; ++j) {
                double s = 0;
                for (std::size_t c = 0; c < 64; ++c) {
                    s += q[row * 64 + c] * k[(j * 4 + row % 4) * 64 + c];
                }
                most = std::max(most, std::abs(s) / 8);
            }
        }
        return most;
    };
    EXPECT_LT(largest(false), 8);
    EXPECT_GT(largest(true), 25);
}

TEST(Inputs, PagesAreShuffledPoisonedAndHoldTheSameTokens) {
    const std::string shape = "h=4/2,q=1,k=40;0;77,d=8/4,dtype=bf16";
    const Workload paged = parse_shape(shape + ",page=16");
    const Inputs in = make_inputs(paged, {.seed = 9});
    const Inputs packed = make_inputs(parse_shape(shape), {.seed = 9});
    EXPECT_EQ(in.seqlens_k, (std::vector<std::int32_t>{40, 0, 77}));
    EXPECT_TRUE(in.cu_seqlens_k.empty());
    EXPECT_EQ(packed.cu_seqlens_k, (std::vector<std::int32_t>{0, 40, 40, 117}));
    EXPECT_TRUE(packed.seqlens_k.empty());
    const auto k = values(in.k, paged.kv_dtype);
    const auto straight = values(packed.k, paged.kv_dtype);
    const std::int64_t run = 2 * 8;
    const auto pages = static_cast<std::int64_t>(k.size()) / run / 16;
    EXPECT_GT(pages, 8);  // 3 + 0 + 5 are used
    std::set<std::int64_t> used;
    std::set<std::int64_t> written;
    std::int64_t token = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
        const std::int64_t length = in.seqlens_k[b];
        for (std::int64_t p = 0; p < in.block_table_stride; ++p) {
            const std::int32_t page = in.block_table[b * in.block_table_stride + p];
            if (p * 16 >= length) {
                EXPECT_EQ(page, 0x7fffffff);
                continue;
            }
            EXPECT_TRUE(page >= 0 && page < pages && used.insert(page).second);
            for (std::int64_t j = p * 16; j < std::min(length, p * 16 + 16); ++j, ++token) {
                const std::int64_t slot = page * 16 + j % 16;
                written.insert(slot);
                for (std::int64_t c = 0; c < run; ++c) {
                    EXPECT_EQ(k[slot * run + c], straight[token * run + c]);
                }
            }
        }
    }
    for (std::int64_t slot = 0; slot < pages * 16; ++slot) {
        EXPECT_EQ(std::isnan(k[slot * run]), !written.contains(slot));
    }
    EXPECT_EQ(values(make_inputs(paged, {.seed = 9, .poison = false}).k, DType::bf16).size(),
              k.size());
}

TEST(Inputs, ArgumentsDescribeThem) {
    const Workload w = parse_shape("h=8/2,q=3;5,k=40;77,d=16/8,dtype=fp16,page=16,causal,window=9");
    Inputs in = make_inputs(w, {});
    InputPointers at;
    at.k = in.k.data();
    at.cu_seqlens_q = in.cu_seqlens_q.data();
    at.cu_seqlens_k = in.cu_seqlens_k.data();
    at.seqlens_k = in.seqlens_k.data();
    at.block_table = in.block_table.data();
    const AttentionArgs args = make_args(w, in, at);
    EXPECT_EQ(args.q.seq_stride, 8 * 16);
    EXPECT_EQ(args.k.batch_stride, 16 * 2 * 16);
    EXPECT_EQ(args.v.head_stride, 8);
    EXPECT_EQ(args.out.seq_stride, 8 * 8);
    EXPECT_NE(args.cu_seqlens_q, nullptr);
    EXPECT_EQ(args.cu_seqlens_k, nullptr);
    EXPECT_EQ(args.seqlens_k, in.seqlens_k.data());
    EXPECT_EQ(args.window_left, 9);
    EXPECT_EQ(args.window_right, 0);
    EXPECT_EQ(args.seqlen_q, 5);
    EXPECT_EQ(args.scale, 0.25F);
    EXPECT_EQ(in.out_elements, 8U * 8 * 8);
    EXPECT_EQ(in.lse_elements, 8U * 8);
    const Workload latent = parse_shape("h=8,q=1,k=64,mla=16+8");
    Inputs one = make_inputs(latent, {});
    EXPECT_TRUE(one.v.empty());
    at.k = one.k.data();
    EXPECT_EQ(make_args(latent, one, at).v.data, one.k.data());
    EXPECT_EQ(make_args(latent, one, at).v.seq_stride, 24);
}

TEST(Inputs, RefuseWhatTheyCannotMake) {
    EXPECT_THROW(make_inputs(parse_shape("h=8,q=1,k=2147483647;2147483647,d=64"), {}), Error);
    EXPECT_THROW(make_inputs(parse_shape("b=1000,h=1024,q=1,k=2147483647,d=64"), {}), Error);
}

TEST(Normal, QuantilesAreSymmetricAndOrdered) {
    EXPECT_EQ(normal_quantile(0), -normal_quantile(65535));
    EXPECT_NEAR(normal_quantile(65535), 4.3256, 1e-3);
    EXPECT_NEAR(normal_quantile(55138), 1.0, 1e-4);
    for (int i = 1; i < 65536; ++i) {
        ASSERT_GT(normal_quantile(static_cast<std::uint16_t>(i)),
                  normal_quantile(static_cast<std::uint16_t>(i - 1)));
    }
}

}  // namespace
}  // namespace raceline
