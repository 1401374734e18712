// SPDX-License-Identifier: Apache-2.0
// The gate of operations: accepts a right answer that is rounded as declared, refuses every change
// that a record calls wrong.
#include "run/operation_gate.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "registry/registry.hpp"
#include "run/gate.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::array dtypes{DType::fp32, DType::fp16, DType::bf16};

Precision precision_of(DType dtype) {
    const Rounding type = dtype == DType::fp32   ? Rounding::fp32
                          : dtype == DType::fp16 ? Rounding::fp16
                                                 : Rounding::bf16;
    return {type, Rounding::fp32, type, Rounding::fp32, type};
}

/// Examples of all operations in the types that they take.
std::vector<Workload> examples() {
    std::vector<Workload> list;
    for (const OperationRecord* operation : all_operations()) {
        const std::size_t before = list.size();
        for (const std::string_view example : operation->examples.value) {
            for (const DType dtype : dtypes) {
                try {
                    list.push_back(parse_shape(example, dtype));
                } catch (const Error& error) {  // of another type
                    EXPECT_THAT(error.what(), testing::HasSubstr("dtype"));
                }
            }
        }
        EXPECT_GE(list.size(), before + operation->examples.value.size()) << operation->name.value;
    }
    return list;
}

Correctness judge(OperationAnswers& answers, const Precision& precision,
                  const StoredOutputs& stored) {
    const std::vector<std::span<const std::byte>> outputs(stored.begin(), stored.end());
    return answers.judge(precision, outputs);
}

TEST(OperationGate, AcceptsARightAnswerOfEveryKindOfInputs) {
    for (const Workload& w : examples()) {
        for (const Draw draw : draws_of(w)) {
            OperationAnswers answers(w, 3, draw);
            const Precision precision = precision_of(w.dtype);
            const Correctness verdict = judge(answers, precision, answers.right_outputs(precision));
            EXPECT_TRUE(verdict.passed)
                << format_shape(w) << " " << name_of(draw) << ": " << verdict.why;
            EXPECT_GT(verdict.cases, 0);
        }
    }
}

TEST(OperationGate, RefusesEveryMutation) {
    for (const Workload& w : examples()) {
        const Precision precision = precision_of(w.dtype);
        OperationAnswers answers(w, 5, Draw::plain);
        const StoredOutputs right = answers.right_outputs(precision);
        for (const Mutation& mutation : find_operation(w.op).mutations.value) {
            for (const std::uint64_t seed : {1U, 2U, 3U}) {
                StoredOutputs changed = right;
                mutation.apply(w, changed, seed);
                const Correctness verdict = judge(answers, precision, changed);
                EXPECT_FALSE(verdict.passed) << format_shape(w) << " " << mutation.name;
                EXPECT_THAT(verdict.why, testing::HasSubstr("'")) << mutation.name;
            }
        }
    }
}

// The gate that judges attention's kernels is another one, and refuses them as well.
TEST(OperationGate, AttentionsOwnGateAgrees) {
    const Workload w = parse_shape("h=2,q=17,k=48,d=64,dtype=fp16");
    const Precision precision = precision_of(w.dtype);
    const OperationAnswers answers(w, 7, Draw::plain);
    const StoredOutputs right = answers.right_outputs(precision);
    const Inputs inputs = make_inputs(w, {.seed = 7, .draw = Draw::plain});
    GateAnswers own(w, inputs, 7);
    const auto passes = [&](const StoredOutputs& stored) {
        std::vector<float> lse(inputs.lse_elements);
        std::memcpy(lse.data(), stored[1].data(), stored[1].size());
        return judge(own, precision, stored[0], lse).passed;
    };
    EXPECT_TRUE(passes(right));
    for (const Mutation& mutation : find_operation("attention").mutations.value) {
        StoredOutputs changed = right;
        mutation.apply(w, changed, 1);
        EXPECT_FALSE(passes(changed)) << mutation.name;
    }
}

TEST(OperationGate, FindsWhatWasNeverWritten) {
    const Workload w = parse_shape("h=2,q=17,k=48,d=64,dtype=fp16");
    OperationAnswers answers(w, 1, Draw::plain);
    StoredOutputs stored = answers.right_outputs(precision_of(w.dtype));
    stored[0][2 * 70] = stored[0][2 * 70 + 1] = std::byte{0xff};
    EXPECT_EQ(judge(answers, precision_of(w.dtype), stored).why,
              "element 6 of row 1 of 'out' was never written, or is NaN");
    stored.pop_back();
    EXPECT_THROW(judge(answers, precision_of(w.dtype), stored), Error);
}

// An LSE is the logarithm of a sum that is off by a share of it: near 0 it is off by about as much
// as elsewhere.
TEST(OperationGate, ALogarithmNearZeroIsJudgedAsAShareOfOne) {
    const Workload w = parse_shape("op=combine,parts=2,rows=9,heads=5,d=8,dtype=fp32");
    OperationData in = find_operation("combine").inputs(w, 3, Draw::plain);
    constexpr std::size_t lse_parts = 1, rows = 45, row = 8;
    for (const std::size_t part : {0U, 1U}) {
        store_element(in.data[lse_parts].data(), DType::fp32, part * rows + row,
                      std::log(0.5) + 1e-3);
    }
    OperationAnswers answers(w, std::move(in));
    const Precision precision = precision_of(DType::fp32);
    StoredOutputs outputs = answers.right_outputs(precision);
    std::byte* lse = outputs.at(1).data();
    const double right = load_element(lse, DType::fp32, row);
    EXPECT_NEAR(right, 1e-3, 1e-6);
    store_element(lse, DType::fp32, row, right + 1.5e-7);
    const Correctness verdict = judge(answers, precision, outputs);
    EXPECT_TRUE(verdict.passed) << verdict.why;
    store_element(lse, DType::fp32, row, right + 1e-3);
    EXPECT_FALSE(judge(answers, precision, outputs).passed);
}

// A sum of 100 products is near 0 by chance, and what its roundings leave is not.
TEST(OperationGate, ASumNearZeroIsJudgedByWhatSuchSumsAre) {
    const Workload w = parse_shape("op=linear,m=1,n=1,k=100,dtype=fp32");
    const Precision precision = precision_of(w.dtype);
    constexpr int tries = 200;
    std::vector<double> sums;
    for (std::uint64_t seed = 0; seed < tries; ++seed) {
        const StoredOutputs right = OperationAnswers(w, seed, Draw::plain).right_outputs(precision);
        sums.push_back(std::abs(load_element(right.front().data(), DType::fp32, 0)));
    }
    const auto smallest = std::ranges::min_element(sums);
    OperationAnswers answers(w, smallest - sums.begin(), Draw::plain);
    const double least = *smallest;
    std::ranges::nth_element(sums, sums.begin() + tries / 2);
    const double typical = sums[tries / 2];
    ASSERT_LT(least, typical / 50);
    const auto passes_with = [&](double error) {
        StoredOutputs stored = answers.right_outputs(precision);
        const double right = load_element(stored.front().data(), DType::fp32, 0);
        store_element(stored.front().data(), DType::fp32, 0, right + error);
        return judge(answers, precision, stored).passed;
    };
    EXPECT_TRUE(passes_with(0x1p-23 * typical));
    EXPECT_FALSE(passes_with(1e-4 * typical));
}

// Of numbers below the least normal one of fp32 a kernel may make 0, and of no larger ones.
TEST(OperationGate, ARowBelowTheLeastNormalNumberMayBeZeros) {
    const Workload w = parse_shape("op=combine,parts=1,rows=9,heads=1,d=8,sinks=1,dtype=fp32");
    const Precision precision = precision_of(DType::fp32);
    const auto passes_with_zeros = [&](double below_sink) {
        OperationData in = find_operation("combine").inputs(w, 3, Draw::plain);
        constexpr std::size_t lse_parts = 1, sinks = 2, row = 4;
        store_element(in.data[sinks].data(), DType::fp32, 0, 1);
        store_element(in.data[lse_parts].data(), DType::fp32, row, 1 - below_sink);
        OperationAnswers answers(w, std::move(in));
        StoredOutputs stored = answers.right_outputs(precision);
        for (std::size_t c = 0; c < 8; ++c) {
            EXPECT_NE(load_element(stored.front().data(), DType::fp32, row * 8 + c), 0);
            store_element(stored.front().data(), DType::fp32, row * 8 + c, 0);
        }
        return judge(answers, precision, stored).passed;
    };
    EXPECT_TRUE(passes_with_zeros(89));
    EXPECT_FALSE(passes_with_zeros(69));
    EXPECT_FALSE(passes_with_zeros(3));
}

// 5 to the eighth is larger than any number in fp16. What a kernel makes of it is right, also where
// all inputs are finite, and what it makes of others is judged as ever.
TEST(OperationGate, WhatNoNumberOfTheTypeHoldsIsInfinite) {
    const Workload w = parse_shape("op=square+square+square,n=4x64,dtype=fp16");
    const Precision precision = precision_of(DType::fp16);
    for (const Draw draw : {Draw::plain, Draw::non_finite}) {
        OperationData in = find_operation(w.op).inputs(w, 3, Draw::plain);
        in.draw = draw;
        for (std::size_t i = 0; i < 4 * 64; ++i) {
            store_element(in.data.front().data(), DType::fp16, i, i == 70 ? 5 : 1.25);
        }
        OperationAnswers answers(w, std::move(in));
        StoredOutputs stored = answers.right_outputs(precision);
        std::byte* out = stored.front().data();
        EXPECT_TRUE(std::isinf(load_element(out, DType::fp16, 70)));
        const Correctness verdict = judge(answers, precision, stored);
        EXPECT_TRUE(verdict.passed) << name_of(draw) << ": " << verdict.why;
        store_element(out, DType::fp16, 71, std::numeric_limits<double>::infinity());
        EXPECT_FALSE(judge(answers, precision, stored).passed) << name_of(draw);
    }
}

TEST(OperationGate, FindsAnInfinityThatShouldNotBe) {
    const Workload w = parse_shape("h=2,q=17,k=48,d=64,dtype=fp16");
    OperationAnswers answers(w, 1, Draw::non_finite);
    const Precision precision = precision_of(w.dtype);
    StoredOutputs stored = answers.right_outputs(precision);
    ASSERT_TRUE(judge(answers, precision, stored).passed);
    std::ranges::fill(stored[0], std::byte{0x10});
    EXPECT_THAT(judge(answers, precision, stored).why, testing::HasSubstr("in float64"));
}

TEST(OperationRows, NameWhatTheWorkloadNames) {
    const Kernel& kernel = find_kernel("cpu_flash");
    Case which;
    which.kernel = &kernel;
    which.workload = parse_shape("h=2,k=64,d=64");
    const Json row = row_to_json(row_case(which, Device{}));
    EXPECT_EQ(row.at("op"), "attention");
    EXPECT_EQ(row.at("pass"), "forward");
}

TEST(OperationOfAKernel, DecidesWhatItRuns) {
    const Kernel& kernel = find_kernel("cpu_flash");
    Workload w = parse_shape("h=2,k=64,d=64");
    EXPECT_EQ(kernel.computes_other(w), "");
    w.pass = "backward";
    EXPECT_EQ(kernel.why_not(w, 0, Device{}),
              "it computes attention, not attention's backward pass");
    w.op = "scale";
    w.pass = "forward";
    EXPECT_EQ(kernel.why_not(w, 0, Device{}), "it computes attention, not scale");
}

// Each kernel has the signature of launch that its record's operation asks for.
TEST(OperationOfAKernel, ExistsAndFitsItsSignature) {
    for (const Kernel& kernel : all_kernels()) {
        const OperationRecord& operation = find_operation(kernel.op);
        EXPECT_TRUE(std::ranges::count(operation.passes, kernel.pass)) << kernel.name;
        EXPECT_TRUE(kernel.launch == nullptr || kernel.launch_operation == nullptr);
        if (kernel.compiled()) {
            EXPECT_EQ(kernel.launch != nullptr, kernel.op == "attention") << kernel.name;
        }
    }
}

}  // namespace
}  // namespace raceline
