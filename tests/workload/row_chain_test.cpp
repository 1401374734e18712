// SPDX-License-Identifier: Apache-2.0
// Chains as they are written, taken apart, and refused.
#include "workload/row_chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/check.hpp"
#include "workload/fusion.hpp"
#include "workload/operation.hpp"
#include "workload/operation_shape.hpp"
#include "workload/row_program.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
    try {
        parse_shape(text);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << text << " was accepted";
    return {};
}

TEST(RowChain, TheTableIsInTheOrderOfItsCodes) {
    for (std::size_t i = 0; i < row_steps.size(); ++i) {
        EXPECT_EQ(static_cast<std::size_t>(row_steps[i].step), i) << row_steps[i].name;
    }
}

TEST(RowChain, IsWrittenAsTheOperation) {
    const Workload w = parse_shape("op=add+store+rmsnorm,n=8x64,eps=0.5,dtype=fp16");
    EXPECT_EQ(w.op, "rows");
    EXPECT_EQ(w.word("steps"), "add+store+rmsnorm");
    EXPECT_EQ(w.extent("rows"), 8);
    EXPECT_EQ(w.extent("width"), 64);
    EXPECT_EQ(format_shape(w), "op=add+store+rmsnorm,n=8x64,eps=0.5,dtype=fp16");
    EXPECT_EQ(name_of_operation(w), "add+store+rmsnorm");
    EXPECT_EQ(parse_shape("op=relu,n=100").extent("rows"), 1) << "a number alone is one row";
    const Json json = workload_to_json(w);
    EXPECT_EQ(json.at("words").at("steps"), "add+store+rmsnorm");
    EXPECT_EQ(workload_from_json(json), w);
}

TEST(RowChain, CountsEachTensorOnce) {
    const Workload w = parse_shape("op=add+store+rmsnorm,n=8x64,dtype=bf16");
    EXPECT_EQ(w.bytes_read(), 2 * (2 * 8 * 64) + 2 * 64) << "x, the summand and the gain";
    EXPECT_EQ(w.bytes_written(), 2 * (2 * 8 * 64)) << "the sum and the result";
    EXPECT_EQ(w.flops(), (1 + 4) * 8 * 64);
    const Workload turned = parse_shape("op=rope,n=8x256,d=64,dtype=fp16");
    EXPECT_EQ(turned.bytes_read(), 2 * 8 * 256 + 4 * 8 * 64) << "angles are fp32";
}

TEST(RowChain, RefusesWhatCannotBe) {
    EXPECT_THAT(refusal("op=rmsnrom,n=4x4"), HasSubstr("did you mean 'rmsnorm'?"));
    EXPECT_THAT(refusal("op=add+rmsnrom,n=4x4"), HasSubstr("did you mean 'rmsnorm'?"));
    EXPECT_THAT(refusal("op=adam+relu,n=4x4"), HasSubstr("'adam' is an operation by itself"));
    EXPECT_THAT(refusal("op=relu+,n=4x4"), HasSubstr("has an empty step"));
    EXPECT_THAT(refusal("op=rows,n=4x4"), HasSubstr("operation 'rows' does not exist"));
    EXPECT_THAT(refusal("op=add+store,n=4x4"), HasSubstr("store writes what stands between"));
    EXPECT_THAT(refusal("op=linear+gemm,m=1,n=1,k=1"), HasSubstr("one matrix product"));
    EXPECT_THAT(refusal("op=linear+rope,m=1,n=1,k=1"),
                HasSubstr("no kernel runs rope beside a matrix product"));
    EXPECT_THAT(refusal("op=layernorm,n=8x1,eps=0"), HasSubstr("its variance is 0"));
    EXPECT_THAT(refusal("op=rmsnorm,n=8x8,eps=1e300"), HasSubstr("a number that fp32 holds"));
    EXPECT_THAT(refusal("op=leaky_relu,n=8x8"), HasSubstr("did you mean 'relu'?"));
    EXPECT_THAT(refusal("op=log_softmax,n=8x8"), HasSubstr("did you mean 'softmax'?"));
    EXPECT_THAT(refusal("op=rmsnorm,n=8x8,epsilon=1"), HasSubstr("did you mean 'eps'?"));
    EXPECT_THAT(refusal("op=relu+relu+relu+relu+relu+relu+relu+relu+relu+relu+relu,n=4"),
                HasSubstr("has 11 steps, and a chain at most 10"));
    EXPECT_THAT(refusal("op=relu,steps=add,n=4"), HasSubstr("is not written"));
    EXPECT_THAT(refusal("op=rope,n=4x100,d=64"), HasSubstr("a multiple of it"));
    EXPECT_THAT(refusal("op=relu,n=4x4,d=64"), HasSubstr("only rope has heads"));
    EXPECT_THAT(refusal("op=relu,n=4x4,eps=1"), HasSubstr("only norms have one"));
    EXPECT_THAT(refusal("op=relu,n=4x"), HasSubstr("'' is not a whole number"));
    EXPECT_THAT(refusal("op=relu,n=0x5"), HasSubstr("1 row and 1 column or more"));
    EXPECT_THAT(refusal("op=relu,n=4x4,dtype=e4m3"), HasSubstr("dtype is e4m3"));
    EXPECT_THAT(refusal("op=adam,n=4,state=bf1"), HasSubstr("did you mean 'bf16'?"));
    EXPECT_THAT(refusal("op=adam,n=4,step=0"), HasSubstr("the first one is 1"));
    EXPECT_THAT(refusal("op=crossentropy,n=4x1"), HasSubstr("2 classes or more"));
}

TEST(RowProgram, TurnsNormsIntoReductionsAndWhatTheyLeave) {
    const std::array chain{RowStep::add, RowStep::layernorm, RowStep::store, RowStep::softmax};
    const RowProgram p = row_program(chain);
    EXPECT_EQ(reductions_of(p), 4);
    EXPECT_EQ(p.steps().front().op, RowOp::add_matrix);
    EXPECT_EQ(p.steps().front().tensor, 1);
    EXPECT_EQ(p.result, 5) << "x, summand, gain, bias, stored, result";
    EXPECT_TRUE(knows_rows(p));
    EXPECT_FALSE(knows_rows(row_program(std::array{RowStep::relu, RowStep::mul})));
    EXPECT_FALSE(has_rope(p));
    EXPECT_FLOAT_EQ(finished(RowFinish::inverse_root, 8, 2, 0), 0.5F);
    EXPECT_FLOAT_EQ(finished(RowFinish::negative_mean, 8, 2, 0), -4);
}

TEST(Fusion, OfAChainHasItsStepsAsParts) {
    const Fusion fusion = fusion_of(parse_shape("op=add+store+rmsnorm,n=8x64"));
    ASSERT_EQ(fusion.parts.size(), 2U) << "what is stored, the step before it writes";
    EXPECT_EQ(format_shape(*fusion.parts[0].workload), "op=add,n=8x64,dtype=bf16");
    EXPECT_EQ(format_shape(*fusion.parts[1].workload), "op=rmsnorm,n=8x64,dtype=bf16");
    const double matrix = 2 * 8 * 64;
    EXPECT_EQ(fusion.bytes_before(), 3 * matrix + 2 * matrix + 2 * 64);
    EXPECT_EQ(fusion.bytes_after(), 4 * matrix + 2 * 64);
    EXPECT_EQ(fusion.flops(), fusion.fused.flops());
}

TEST(Fusion, OfAProductTakesItsRowsApart) {
    const Fusion fusion = fusion_of(parse_shape("op=rmsnorm+linear+bias+silu,m=4,n=6,k=10"));
    ASSERT_EQ(fusion.parts.size(), 4U);
    EXPECT_EQ(format_shape(*fusion.parts[0].workload), "op=rmsnorm,n=4x10,dtype=bf16");
    EXPECT_EQ(format_shape(*fusion.parts[1].workload), "op=linear,m=4,n=6,k=10,dtype=bf16");
    EXPECT_EQ(format_shape(*fusion.parts[2].workload), "op=bias,n=4x6,dtype=bf16");
}

// 4·L²·d operations and the bytes of Q, K, V, O once, and of the scores four times.
TEST(Fusion, OfAttentionCountsTheScoreMatrix) {
    const Fusion fusion = fusion_of(parse_shape("h=1,q=2048,k=2048,d=64,dtype=fp16"));
    const double scores = 2.0 * 2048 * 2048;
    EXPECT_EQ(fusion.scores, scores);
    EXPECT_EQ(fusion.bytes_before(), 4 * scores + 4 * 2.0 * 2048 * 64);
    EXPECT_EQ(fusion.bytes_after(), 4 * 2.0 * 2048 * 64);
    EXPECT_NEAR(fusion.fused.flops() / fusion.bytes_after(), 1024, 1e-9);
}

// Unfused parts compute every score, so they read the keys that a window hides, too.
TEST(Fusion, OfAttentionWithAWindowReadsAllKeysForAllScores) {
    const Fusion fusion = fusion_of(parse_shape("h=1,q=16,k=1024,d=64,window=7:0,dtype=fp16"));
    const double scores = 2.0 * 16 * 1024;
    const double queries = 2.0 * 16 * 64;
    const double keys = 2.0 * 1024 * 64;
    EXPECT_EQ(fusion.scores, scores);
    EXPECT_EQ(fusion.parts[0].bytes_read, queries + keys);
    EXPECT_EQ(fusion.parts[2].bytes_read, scores + keys);
    EXPECT_LT(fusion.bytes_after(), 2 * queries + 2 * keys);
}

TEST(Fusion, RefusesOneStep) {
    EXPECT_THROW(fusion_of(parse_shape("op=relu,n=4x4")), Error);
    EXPECT_THROW(fusion_of(parse_shape("op=adam,n=4x4")), Error);
}

}  // namespace
}  // namespace raceline
