// SPDX-License-Identifier: Apache-2.0
// The oracle is the one thing that nothing else checks: here it meets the bare formula in long
// double on inputs indexed by hand, and answers known without computing.
#include "workload/oracle.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "support/check.hpp"
#include "workload/rounded_sum.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr Precision all_fp32{Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32,
                             Rounding::fp32};

/// softmax(scale · Q Kᵀ) V by the formula: no maximum is subtracted, every pair is tested.
OracleRow formula(const Workload& w, const Inputs& in, std::int64_t b, std::int64_t i,
                  std::int64_t h) {
    std::int64_t q_start = 0;
    std::int64_t k_start = 0;
    for (std::int64_t s = 0; s < b; ++s) {
        q_start += w.length_q(s);
        k_start += w.length_k(s);
    }
    const std::int64_t kv = h * w.heads_kv / w.heads_q;
    const auto slot = [&](std::int64_t j) {
        if (w.page_size == 0) {
            return k_start + j;
        }
        const auto entry = b * in.block_table_stride + j / w.page_size;
        return in.block_table[entry] * w.page_size + j % w.page_size;
    };
    // Scales of tokens: pages one behind the other, in each a head's tokens or a token's heads.
    const auto of_token = [&](const std::vector<float>& scales, std::int64_t j) -> long double {
        if (scales.empty()) {
            return 1.0L;
        }
        const std::int64_t run = w.page_size != 0 ? w.page_size : w.seqlen_k;
        const Inputs::ScaleStrides& s = in.scale_strides;
        return scales[slot(j) / run * s.batch + slot(j) % run * s.token + kv * s.head];
    };
    const long double qs = in.q_scale.empty() ? 1.0L : in.q_scale[b * w.heads_kv + kv];
    const long double ks = in.k_scale.empty() ? 1.0L : in.k_scale[b * w.heads_kv + kv];
    const long double vs = in.v_scale.empty() ? 1.0L : in.v_scale[b * w.heads_kv + kv];
    long double sum = w.sinks ? std::exp(static_cast<long double>(in.sinks[h])) : 0.0L;
    std::vector<long double> out(w.headdim_v, 0.0L);
    for (std::int64_t j = 0; j < w.length_k(b); ++j) {
        const std::int64_t ahead = (j - w.length_k(b)) - (i - w.length_q(b));
        if ((w.mask == Mask::causal && ahead > 0) ||
            (w.window && w.window->left >= 0 && -ahead > w.window->left)) {
            continue;
        }
        long double s = 0;
        for (std::int64_t c = 0; c < w.headdim; ++c) {
            s += static_cast<long double>(load_element(
                     in.q.data(), w.dtype, ((q_start + i) * w.heads_q + h) * w.headdim + c)) *
                 load_element(in.k.data(), w.kv_dtype, (slot(j) * w.heads_kv + kv) * w.headdim + c);
        }
        s *= of_token(in.k_token_scale, j);
        s *= qs * ks * (w.scale ? *w.scale : 1 / std::sqrt(static_cast<long double>(w.headdim)));
        if (w.softcap > 0) {
            s = w.softcap * std::tanh(s / w.softcap);
        }
        const long double p = std::exp(s);
        sum += p;
        for (std::int64_t c = 0; c < w.headdim_v; ++c) {
            const auto& values = w.mla ? in.k : in.v;
            const std::int64_t width = w.mla ? w.headdim : w.headdim_v;
            out[c] +=
                p * vs * of_token(in.v_token_scale, j) *
                load_element(values.data(), w.kv_dtype, (slot(j) * w.heads_kv + kv) * width + c);
        }
    }
    OracleRow row{{}, static_cast<double>(std::log(sum)), 0};
    for (const long double o : out) {
        row.out.push_back(sum > 0 ? static_cast<double>(o / sum) : 0.0);
    }
    return row;
}

TEST(Oracle, AgreesWithTheFormula) {
    for (const char* shape :
         {"b=2,h=4/2,q=5,k=9,d=8,dtype=fp32", "b=2,h=4/2,q=5,k=9,d=8/3,dtype=bf16,causal",
          "h=6/3,q=2;5;1,k=7;3;300,d=16,dtype=fp16,causal", "h=4,q=3,k=700,d=8,window=20,causal",
          "b=3,h=4/1,q=2,k=33,d=8,page=5,dtype=bf16", "h=4/2,q=1;2,k=9;40,d=8,page=16,kv=e4m3",
          "h=4/2,q=1;2,k=9;40,d=8,page=16,kv=e4m3,scales=token",
          "b=2,h=4/2,q=2,k=40,d=8,kv=e4m3,scales=token,softcap=9",
          "h=4,q=3,k=20,mla=8+4,dtype=fp16", "h=4,q=3,k=20,mla=8+4,dtype=bf16,kv=e4m3,page=4",
          "h=2,q=9,k=4,d=8,causal,sinks", "h=2,k=40,d=8,softcap=5,sinks,scale=0.7,dtype=fp32",
          "b=2,h=4/2,q=5,k=9,d=16,dtype=e4m3", "h=2,q=4,k=0,d=8,dtype=fp32",
          "h=2,q=2,k=0,d=8,dtype=fp32,sinks"}) {
        const Workload w = parse_shape(shape);
        for (const bool outliers : {false, true}) {
            const Inputs in =
                make_inputs(w, {.seed = 5, .draw = outliers ? Draw::outliers : Draw::plain});
            for (std::int64_t b = 0; b < w.batch; ++b) {
                for (std::int64_t i = 0; i < w.length_q(b); ++i) {
                    for (std::int64_t h = 0; h < w.heads_q; ++h) {
                        const OracleRow got = oracle_row(w, in, b, i, h);
                        const OracleRow want = formula(w, in, b, i, h);
                        if (std::isinf(want.lse)) {
                            EXPECT_EQ(got.lse, want.lse) << shape;
                        } else {
                            EXPECT_NEAR(got.lse, want.lse,
                                        1e-12 * std::max(1.0, std::abs(want.lse)))
                                << shape;
                        }
                        for (std::int64_t c = 0; c < w.headdim_v; ++c) {
                            EXPECT_NEAR(got.out[c], want.out[c], 1e-11)
                                << shape << " b " << b << " i " << i << " h " << h;
                        }
                    }
                }
            }
        }
    }
}

TEST(Oracle, KnownAnswers) {
    const Workload w = parse_shape("h=1,q=1,k=4,d=2,dtype=fp32");
    Inputs in = make_inputs(w, {});
    const auto set = [](std::vector<std::byte>& at, std::vector<double> values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            store_element(at.data(), DType::fp32, i, values[i]);
        }
    };
    // Equal logits: the mean of V, LSE = s + ln 4.
    set(in.q, {0, 0});
    set(in.v, {1, 10, 2, 20, 3, 30, 6, 40});
    OracleRow row = oracle_row(w, in, 0, 0, 0);
    EXPECT_DOUBLE_EQ(row.out[0], 3);
    EXPECT_DOUBLE_EQ(row.out[1], 25);
    EXPECT_DOUBLE_EQ(row.lse, std::log(4.0));
    // Logits ln 1, ln 2, ln 3, ln 4 by hand: weights 0.1 to 0.4.
    Workload plain = w;
    plain.scale = 1;
    set(in.q, {1, 0});
    set(in.k, {0, 9, std::log(2.0), 9, std::log(3.0), 9, std::log(4.0), 9});
    row = oracle_row(plain, in, 0, 0, 0);
    EXPECT_NEAR(row.out[0], 0.1 * 1 + 0.2 * 2 + 0.3 * 3 + 0.4 * 6, 1e-7);  // logs stored as fp32
    EXPECT_NEAR(row.lse, std::log(10.0), 1e-7);
    EXPECT_NEAR(row.spread, std::sqrt((0.01 * 101 + 0.04 * 404 + 0.09 * 909 + 0.16 * 1636) / 2),
                1e-5);
    // A sink as heavy as all keys halves the output.
    plain.sinks = true;
    in.sinks = {static_cast<float>(std::log(10.0))};
    EXPECT_NEAR(oracle_row(plain, in, 0, 0, 0).out[0], 1.9, 1e-6);
}

TEST(Oracle, RowsWithoutKeys) {
    const Workload w = parse_shape("h=1,q=3,k=1,d=4,causal,sinks");
    const Inputs in = make_inputs(w, {});
    for (const OracleRow& row :
         {oracle_row(w, in, 0, 0, 0), rounded_row(w, in, 0, 0, 0, all_fp32)}) {
        EXPECT_EQ(row.out, std::vector<double>(4, 0.0));
        EXPECT_EQ(row.lse, static_cast<double>(in.sinks[0]));
    }
    const Workload bare = parse_shape("h=1,q=3,k=1,d=4,causal");
    EXPECT_EQ(oracle_row(bare, in, 0, 0, 0).lse, -std::numeric_limits<double>::infinity());
    EXPECT_THROW(oracle_row(bare, in, 0, 3, 0), Error);
}

TEST(Oracle, ErrorsOfTheRoundedRowFollowItsTypes) {
    const Workload w = parse_shape("h=1,q=1,k=500,d=64,dtype=fp32");
    const Inputs in = make_inputs(w, {.seed = 2, .draw = Draw::plain});
    const OracleRow truth = oracle_row(w, in, 0, 0, 0);
    const auto error = [&](const Precision& precision) {
        const OracleRow row = rounded_row(w, in, 0, 0, 0, precision);
        double squares = 0;
        for (std::size_t c = 0; c < row.out.size(); ++c) {
            squares += std::pow((row.out[c] - truth.out[c]) / truth.spread, 2);
        }
        return std::sqrt(squares / static_cast<double>(row.out.size()));
    };
    constexpr auto f32 = Rounding::fp32;
    constexpr auto b16 = Rounding::bf16;
    constexpr auto f64 = Rounding::fp64;
    EXPECT_EQ(error({f64, f64, f64, f64, f64}), 0);
    const double fp32 = error(all_fp32);
    EXPECT_GT(fp32, 1e-8);
    EXPECT_LT(fp32, 2e-6);
    const double output = error({f32, f32, f32, f32, b16});
    EXPECT_GT(output, 5e-4);
    EXPECT_LT(output, 4e-3);
    EXPECT_GT(error({b16, f32, b16, f32, b16}), output);
    // Sums in bf16 stagnate: worse than all the rest together.
    EXPECT_GT(error({f32, f32, f32, b16, f32}), 4 * output);
}

TEST(Oracle, VariantsAreTheSameRowInAnotherOrder) {
    const Workload w = parse_shape("h=2/1,q=3,k=700,d=96,dtype=bf16,causal,window=300");
    const Inputs in = make_inputs(w, {.seed = 4});
    constexpr auto f64 = Rounding::fp64;
    constexpr auto b16 = Rounding::bf16;
    const Precision none{f64, f64, f64, f64, f64};
    const Precision sums{b16, f64, f64, Rounding::fp32_rz, f64};
    const Precision narrow{b16, f64, f64, Rounding::e4m3_sum, f64};
    const OracleRow exact = oracle_row(w, in, 0, 1, 1);
    for (std::int64_t n = 0; n < 5; ++n) {
        const OracleRow other = rounded_row(w, in, 0, 1, 1, none, {n, 5});
        EXPECT_NEAR(other.lse, exact.lse, 1e-12);
        for (std::size_t c = 0; c < exact.out.size(); ++c) {
            EXPECT_NEAR(other.out[c], exact.out[c], 1e-12 * exact.spread);
        }
    }
    for (const Precision& precision : {sums, narrow}) {
        const OracleRow first = rounded_row(w, in, 0, 1, 1, precision);
        EXPECT_EQ(rounded_row(w, in, 0, 1, 1, precision, {0, 5}).out, first.out);
        const OracleRow other = rounded_row(w, in, 0, 1, 1, precision, {2, 5});
        EXPECT_NE(other.out, first.out);
        EXPECT_NE(other.lse, first.lse);
    }
}

TEST(Oracle, VariantsMoveTheBaseOnlyWhereAKernelDoes) {
    Precision p{Rounding::e4m3, Rounding::fp32, Rounding::e4m3, Rounding::fp32, Rounding::bf16};
    for (const double own : {1.0, 64.0}) {
        p.probability_scale = own;
        EXPECT_EQ((Variant{3, 8}.probability_scale(p)), own);
    }
    p.probability_scale = 65;
    EXPECT_EQ((Variant{0, 8}.probability_scale(p)), 65);
    EXPECT_EQ((Variant{2, 8}.probability_scale(p)), 65 * std::exp2(0.25));
    EXPECT_EQ((Variant{6, 8}.probability_scale(p)), 65 * std::exp2(-0.25));
}

TEST(RoundTo, TiesGoToEvenAndRangesEnd) {
    EXPECT_EQ(round_to(1 + 0x1p-8, Rounding::bf16), 1);
    EXPECT_EQ(round_to(1 + 0x1.8p-23, Rounding::fp32), 1 + 0x1p-22);
    EXPECT_EQ(round_to(1 + 0x1.8p-23, Rounding::fp32_rz), 1 + 0x1p-23);
    EXPECT_EQ(round_to(-1 - 0x1.8p-23, Rounding::fp32_rz), -1 - 0x1p-23);
    EXPECT_EQ(round_to(1 + 3 * 0x1p-8, Rounding::bf16), 1 + 0x1p-6);
    EXPECT_EQ(round_to(1 + 0x1p-8 + 0x1p-40, Rounding::bf16), 1 + 0x1p-7);  // no double rounding
    EXPECT_EQ(round_to(65519, Rounding::fp16), 65504);
    EXPECT_TRUE(std::isinf(round_to(65520, Rounding::fp16)));
    EXPECT_EQ(round_to(0x1p-25, Rounding::fp16), 0);
    EXPECT_EQ(round_to(0x1.8p-24, Rounding::fp16), 0x1p-23);
    EXPECT_EQ(round_to(1000, Rounding::e4m3), 448);
    EXPECT_EQ(round_to(-17, Rounding::e4m3), -16);
    EXPECT_EQ(round_to(1 + 0x1p-11, Rounding::tf32), 1);
}

TEST(Rounding, EightBitProductsAreAlignedAndCutAsHopperDoes) {
    const auto sum = [](double start, const std::vector<double>& factors,
                        const std::vector<float>& terms) {
        add_e4m3_products(&start, factors.data(), terms.data(), 1,
                          static_cast<std::int64_t>(terms.size()), 1);
        return start;
    };
    EXPECT_EQ(sum(0, {3}, {2}), 6);
    EXPECT_EQ(sum(1, {0x1p-7}, {0x1p-6F}), 1 + 0x1p-13);
    EXPECT_EQ(sum(1, {0x1p-7}, {0x1.8p-7F}), 1);                 // cut, not rounded
    EXPECT_EQ(sum(-1, {-0x1p-7}, {0x1.cp-6F}), -1 - 0x1p-13);    // toward zero
    EXPECT_EQ(sum(1, {0x1p-7, 0x1p-7}, {0x1p-7F, 0x1p-7F}), 1);  // each for itself
    EXPECT_EQ(sum(0x1p-20, {1, -1}, {1024, 1024}), 0);           // by the largest, not the sum
    EXPECT_EQ(sum(0, {0x1p-9, 0x1p-9}, {0x1p-9F, 0x1p-9F}), 0x1p-17);  // relative, not absolute
}

TEST(Oracle, EightBitReferenceRoundsProbabilitiesAtTheirScale) {
    // One key 7 above 2000 others that carry all values: e^-7 is nothing in e4m3, times 64 it is.
    const Workload w = parse_shape("h=1,q=1,k=2001,d=16,dtype=e4m3,scale=0.25");
    Inputs in = make_inputs(w, {.seed = 3});
    in.q_scale = in.k_scale = in.v_scale = {1};
    std::fill(in.q.begin(), in.q.end(), std::byte{0});
    std::fill(in.k.begin(), in.k.end(), std::byte{0});
    std::fill(in.v.begin(), in.v.begin() + 16, std::byte{0});
    store_element(in.q.data(), DType::e4m3, 0, 1);
    store_element(in.k.data(), DType::e4m3, 0, 28);
    for (std::size_t i = 16; i < in.v.size(); ++i) {
        store_element(in.v.data(), DType::e4m3, i, 1);
    }
    Precision p{Rounding::e4m3, Rounding::fp32, Rounding::e4m3, Rounding::e4m3_sum, Rounding::bf16};
    const double exact = oracle_row(w, in, 0, 0, 0).out[3];
    EXPECT_NEAR(exact, 2000 * std::exp(-7.0) / (1 + 2000 * std::exp(-7.0)), 1e-12);
    EXPECT_EQ(rounded_row(w, in, 0, 0, 0, p).out[3], 0);
    p.probability_scale = 64;
    EXPECT_NEAR(rounded_row(w, in, 0, 0, 0, p).out[3], exact, 0.05 * exact);
}

TEST(Elements, EveryBitPatternSurvives) {
    std::byte two[2];
    for (const DType dtype : {DType::fp16, DType::bf16, DType::e4m3}) {
        const std::uint32_t patterns = dtype == DType::e4m3 ? 256 : 65536;
        for (std::uint32_t bits = 0; bits < patterns; ++bits) {
            const std::byte in[2]{std::byte(bits & 0xff), std::byte(bits >> 8)};
            const double value = load_element(in, dtype, 0);
            if (!std::isnan(value)) {
                store_element(two, dtype, 0, value);
                EXPECT_EQ(two[0], in[0]);
                EXPECT_TRUE(dtype == DType::e4m3 || two[1] == in[1]) << bits;
            }
        }
    }
    const std::byte ones[4]{std::byte{255}, std::byte{255}, std::byte{255}, std::byte{255}};
    for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::e4m3}) {
        EXPECT_TRUE(std::isnan(load_element(ones, dtype, 0)));
    }
}

}  // namespace
}  // namespace raceline
