// SPDX-License-Identifier: Apache-2.0
// 8-bit sums of P·V that are left to the tensor core: what they lose by how many keys they have,
// and that the gate sees it. The sums are those of the gate's reference (workload/rounded_sum.hpp).
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "tests/kernels/value_kinds.hpp"
#include "workload/oracle.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

Precision precision_of(const Workload& w) {
    return find_kernel("prefill_sm90_fp8").precision(w);
}
Workload fast(Workload w) {
    w.accuracy = Accuracy::fast;
    return w;
}

// ‖out − answer‖ / ‖answer‖ over all rows of a small call, with sums promoted every so many keys.
double error(const Workload& w, const Inputs& in, std::int64_t keys) {
    Precision precision = precision_of(w);
    precision.promoted_keys = keys;
    double wrong = 0;
    double all = 0;
    for (std::int64_t row = 0; row < w.seqlen_q; ++row) {
        const OracleRow exact = oracle_row(w, in, 0, row, 0);
        const OracleRow rounded = rounded_row(w, in, 0, row, 0, precision);
        for (std::size_t c = 0; c < exact.out.size(); ++c) {
            wrong += std::pow(rounded.out[c] - exact.out[c], 2);
            all += std::pow(exact.out[c], 2);
        }
    }
    return std::sqrt(wrong / all);
}

class AccurateSums : public testing::TestWithParam<const char*> {};

// The bound that accurate calls are held to, against the sum that is promoted after every step of
// 32 keys.
TEST_P(AccurateSums, have_at_most_1_3_times_the_error_of_the_finest) {
    const Workload w = parse_shape(GetParam());
    const test::Drawn drawn(w);
    for (int kind = 0; kind < test::value_kinds; ++kind) {
        const Inputs in = test::inputs_of(w, drawn, kind);
        const double finest = error(w, in, 32);
        EXPECT_LE(error(w, in, precision_of(w).promoted_keys), 1.3 * finest)
            << test::name_of_kind(kind);
    }
}
INSTANTIATE_TEST_SUITE_P(Lengths, AccurateSums,
                         testing::Values("h=1,q=64,k=4096,d=32,dtype=e4m3",
                                         "h=1,q=32,k=16384,d=32,dtype=e4m3",
                                         "h=1,q=64,k=4107,d=32,dtype=e4m3,causal"),
                         [](const auto& one) { return "shape" + std::to_string(one.index); });

// Four blocks of 128 keys, as others promote, are too many: the bound is a bound.
TEST(PromotedSums, of_512_keys_have_more) {
    const Workload w = parse_shape("h=1,q=6,k=4096,d=32,dtype=e4m3");
    const Inputs in = test::inputs_of(w, test::Drawn(w), 3);
    EXPECT_GT(error(w, in, 512), 2 * error(w, in, 32));
}

// An output whose sums were never promoted, in another order than the gate's reference.
std::vector<std::byte> output_of(const Workload& w, const Inputs& in, const Precision& precision) {
    std::vector<std::byte> out(2 * in.out_elements);
    std::size_t at = 0;
    for (std::int64_t row = 0; row < w.seqlen_q; ++row) {
        for (std::int64_t head = 0; head < w.heads_q; ++head) {
            for (const double x : rounded_row(w, in, 0, row, head, precision, {1, 3}).out) {
                store_element(out.data(), DType::bf16, at++, x);
            }
        }
    }
    return out;
}

TEST(PromotedSums, unpromoted_ones_are_refused_unless_fast_ones_were_asked_for) {
    const Workload w = parse_shape("h=1,q=33,k=4500,d=32,dtype=e4m3");
    const Inputs in = test::inputs_of(w, test::Drawn(w), 1);
    GateAnswers answers(w, in, 3);
    const auto judged = [&](const Precision& made, const Precision& by) {
        return judge(answers, by, output_of(w, in, made), {});
    };
    const Precision accurate = precision_of(w);
    const Precision unpromoted = precision_of(fast(w));
    EXPECT_TRUE(judged(accurate, accurate).passed);
    EXPECT_TRUE(judged(accurate, unpromoted).passed);
    EXPECT_TRUE(judged(unpromoted, unpromoted).passed);
    const Correctness refused = judged(unpromoted, accurate);
    EXPECT_FALSE(refused.passed);
    EXPECT_NE(refused.why.find("relative RMS"), std::string::npos) << refused.why;
}

}  // namespace
}  // namespace raceline
