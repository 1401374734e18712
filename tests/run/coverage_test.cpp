// SPDX-License-Identifier: Apache-2.0
// Mistakes that stay in one head, one tile or at one key, which a sample of rows does not meet.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "mutant.hpp"
#include "run/backend.hpp"
#include "run/gate.hpp"
#include "spoiled.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::HostOutputs;
using test::Spoil;

/// What a right kernel leaves, on the inputs of one draw.
HostOutputs right_outputs(const Workload& w, const Inputs& in) {
    HostOutputs to{
        std::vector<std::byte>(in.out_elements * static_cast<std::size_t>(bytes_of(w.out_dtype()))),
        std::vector<float>(in.lse_elements)};
    InputPointers at = pointers_into(in);
    at.out = to.out.data();
    at.lse = to.lse.data();
    mutation::Kernel(w, in, make_args(w, in, at), mutation::Mistake::none).run();
    return to;
}

struct Case {
    std::string shape;
    std::vector<Spoil> spoils;
};

class Coverage : public testing::TestWithParam<Case> {};

TEST_P(Coverage, refuses_what_is_wrong_in_one_place) {
    const Workload w = parse_shape(GetParam().shape);
    const Inputs in = make_inputs(w, {.seed = 3, .draw = Draw::plain});
    const Precision precision = mutation::precision_of(w);
    GateAnswers answers(w, in, 3, Draw::plain);
    const HostOutputs right = right_outputs(w, in);
    const Correctness accepted = judge(answers, precision, right.out, right.lse);
    EXPECT_TRUE(accepted.passed) << accepted.why;
    for (const Spoil what : GetParam().spoils) {
        HostOutputs wrong = right;
        test::Spoiler(w, in, wrong).apply(what);
        const Correctness refused = judge(answers, precision, wrong.out, wrong.lse);
        EXPECT_FALSE(refused.passed)
            << GetParam().shape << ": " << test::name_of(what) << ": along a value "
            << refused.aligned << " of " << refused.bound_aligned << ", worst " << refused.worst
            << " of " << refused.bound_worst;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Coverage,
    testing::Values(Case{"h=40/8,q=700,k=700,d=64,dtype=bf16,causal",
                         {Spoil::heads_swapped, Spoil::garbage_in_one_head,
                          Spoil::lse_in_base_2_in_one_head, Spoil::dropped_key}},
                    Case{"h=32/8,q=1,k=65536,d=128,dtype=bf16", {Spoil::dropped_key}},
                    Case{"h=16,q=1,k=65536,d=128,dtype=fp16", {Spoil::dropped_key}},
                    Case{"h=32/8,q=1,k=65536,d=64,dtype=bf16,page=64", {Spoil::dropped_key}}),
    [](const auto& which) { return std::to_string(which.index); });

// A head dim that tiles pad: its scale is that of 80, not of what it is padded to.
TEST(Scale, of_a_padded_head_dim_is_refused) {
    const Workload w = parse_shape("h=4/2,q=100,k=300,d=80,dtype=bf16,causal");
    for (const Draw draw : {Draw::plain, Draw::outliers, Draw::biased, Draw::peaked}) {
        const Inputs in = make_inputs(w, {.seed = 4, .draw = draw});
        for (const double padded : {96.0, 128.0}) {
            Workload wrong = w;
            wrong.scale = 1 / std::sqrt(padded);
            const HostOutputs outputs = right_outputs(wrong, in);
            EXPECT_FALSE(
                judge(w, in, mutation::precision_of(w), outputs.out, outputs.lse, 4, draw).passed)
                << name_of(draw) << ' ' << padded;
        }
    }
}

class NonFiniteInputs : public testing::TestWithParam<std::string> {};

// Over several seeds: places are few, and a seed may put them where little depends on them.
TEST_P(NonFiniteInputs, decide_which_outputs_are_finite) {
    const Workload w = parse_shape(GetParam());
    int swallowed = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const Inputs in = make_inputs(w, {.seed = seed, .draw = Draw::non_finite});
        const HostOutputs right = right_outputs(w, in);
        GateAnswers answers(w, in, seed, Draw::non_finite);
        const Precision precision = mutation::precision_of(w);
        const Correctness accepted = judge(answers, precision, right.out, right.lse);
        EXPECT_TRUE(accepted.passed) << seed << ": " << accepted.why;
        HostOutputs clean = right;  // every NaN and infinity gone, as one CPU kernel left them
        for (std::size_t i = 0; i < in.out_elements; ++i) {
            if (!std::isfinite(load_element(clean.out.data(), w.out_dtype(), i))) {
                store_element(clean.out.data(), w.out_dtype(), i, 0.25);
            }
        }
        swallowed += judge(answers, precision, clean.out, right.lse).passed ? 0 : 1;
        HostOutputs leaked = right;
        store_element(leaked.out.data(), w.out_dtype(), 0, NAN);
        const bool was = std::isfinite(load_element(right.out.data(), w.out_dtype(), 0));
        EXPECT_EQ(judge(answers, precision, leaked.out, leaked.lse).passed, !was) << seed;
    }
    EXPECT_GE(swallowed, 5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, NonFiniteInputs,
                         testing::Values("h=8/4,q=40,k=40,d=64,dtype=fp32",
                                         "h=8/4,q=1,k=300,d=64,dtype=bf16",
                                         "b=3,h=4/2,q=1,k=100,d=64,dtype=fp16,page=16"),
                         [](const auto& which) { return std::to_string(which.index); });

// Under a window most keys are out of sight, and rows that see one are few.
TEST(NonFinitePlaces, stand_mostly_where_a_checked_row_sees_them) {
    for (const char* shape : {"h=8/2,q=1,k=4000,d=64,window=127,page=64",
                              "h=32/8,q=3000,k=3000,d=64,causal,window=31"}) {
        const Workload w = parse_shape(shape);
        const Inputs none;
        int seen = 0;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const GateAnswers answers(w, none, seed, Draw::non_finite);
            const auto places = non_finite_places(w, seed);
            seen += std::any_of(places.begin(), places.end(), [&](const NonFinite& one) {
                return one.tensor != NonFinite::Tensor::q &&
                       std::any_of(answers.rows().begin(), answers.rows().end(),
                                   [&](const Row& at) {
                                       const auto [first, last] = w.visible(at.sequence, at.row);
                                       return at.sequence == one.sequence &&
                                              at.head / w.group() == one.head &&
                                              first <= one.token && one.token < last;
                                   });
            });
        }
        EXPECT_GE(seen, 15) << shape;
    }
}

TEST(Draws, are_of_other_numbers_each) {
    const Workload w = parse_shape("h=2,q=40,k=40,d=64,dtype=bf16");
    const auto plain = make_inputs(w, {.seed = 1, .draw = Draw::plain});
    for (const Draw draw : all_draws) {
        const Inputs in = make_inputs(w, {.seed = 1, .draw = draw});
        EXPECT_EQ(in.q == plain.q && in.k == plain.k && in.v == plain.v, draw == Draw::plain)
            << name_of(draw);
    }
    double mean = 0;
    const Inputs biased = make_inputs(w, {.seed = 1, .draw = Draw::biased});
    for (std::size_t i = 0; i < biased.v.size() / 2; ++i) {
        mean += load_element(biased.v.data(), w.kv_dtype, i) /
                static_cast<double>(w.tokens_k() * w.heads_kv * w.headdim_v);
    }
    EXPECT_NEAR(mean, draw_bias, 0.05);
}

}  // namespace
}  // namespace raceline
