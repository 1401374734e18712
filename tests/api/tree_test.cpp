// SPDX-License-Identifier: Apache-2.0
// decode with a tree of new tokens, through the C++ and the C interface.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "api/engine_choice.hpp"
#include "raceline/raceline.h"
#include "tests/api/c_view.hpp"
#include "tests/api/workload_call.hpp"
#include "workload/normal.hpp"

namespace raceline {
namespace {

using tests::Layout;
using tests::WorkloadCall;

Correctness verdict_of(const WorkloadCall& call) {
    const Kernel& kernel = *api::remembered_engine(call.workload, Place::cpu, 0, "").kernel;
    return call.verdict(kernel.precision(call.workload));
}

class TreeAnswers : public testing::TestWithParam<std::tuple<const char*, Layout>> {};

TEST_P(TreeAnswers, EqualTheOracleForTreesAndAnyWords) {
    const auto [shape, layout] = GetParam();
    WorkloadCall call(shape, layout);
    for (const bool trees : {true, false}) {
        if (!trees) {  // any bits; a token that sees no new one
            for (std::size_t i = 0; i < call.inputs.tree.size(); ++i) {
                const auto bits = static_cast<std::uint32_t>(random_bits(3, i));
                call.inputs.tree[i] = i % 3 == 1 ? 0 : bits >> (32 - call.workload.seqlen_q);
            }
        }
        DecodeArgs args = call.decode_args();
        args.options.checked = true;
        tests::run(args);
        const Correctness verdict = verdict_of(call);
        EXPECT_TRUE(verdict.passed) << shape << ' ' << trees << ": " << verdict.why;
        EXPECT_TRUE(call.out.guards_hold() && call.lse.guards_hold());
        // Another word than the oracle's must show, or nothing above is said.
        call.inputs.tree[0] ^= 1U;
        EXPECT_FALSE(verdict_of(call).passed) << shape << ' ' << trees;
        call.inputs.tree[0] ^= 1U;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, TreeAnswers,
    testing::Combine(testing::Values("b=2,h=4/2,q=5,k=77,d=64,dtype=fp32,tree=1",
                                     "b=3,h=8/1,q=32,k=90,d=64,dtype=bf16,tree=2",
                                     "b=2,h=2,q=4,k=4,d=32,dtype=fp16,tree=3"),
                     testing::Values(Layout::packed, Layout::heads_first)));
INSTANTIATE_TEST_SUITE_P(
    Pages, TreeAnswers,
    testing::Combine(testing::Values("b=3,h=8/2,q=6,k=90;3;0,d=64,dtype=bf16,page=16,tree=4",
                                     "b=2,h=4/2,q=3,k=200,d=64,dtype=fp16,kv=e4m3,page=32,tree=5"),
                     testing::Values(Layout::packed)));

TEST(Tree, AChainIsCausalBitForBit) {
    WorkloadCall tree("b=2,h=4/2,q=6,k=50,d=64,dtype=fp32,tree=1");
    WorkloadCall causal("b=2,h=4/2,q=6,k=50,d=64,dtype=fp32,causal");
    for (std::size_t i = 0; i < tree.inputs.tree.size(); ++i) {
        tree.inputs.tree[i] = (2U << (i % 6)) - 1;
    }
    tests::run(tree.decode_args());
    tests::run(causal.decode_args());
    EXPECT_EQ(std::memcmp(tree.out.data(), causal.out.data(), tree.out.size()), 0);
    EXPECT_EQ(std::memcmp(tree.lse.data(), causal.lse.data(), tree.lse.size()), 0);
}

TEST(Tree, ARowWithoutKeysIsZero) {
    WorkloadCall call("h=2,q=3,k=3,d=16,dtype=fp32,tree=1");
    call.inputs.tree = {0, 7, 0};
    tests::run(call.decode_args());
    const auto* out = reinterpret_cast<const float*>(call.out.data());
    const auto* lse = reinterpret_cast<const float*>(call.lse.data());
    for (int i = 0; i < 3 * 2; ++i) {
        const bool empty = i / 2 != 1;
        EXPECT_EQ(lse[i] == -std::numeric_limits<float>::infinity(), empty) << i;
        EXPECT_EQ(out[i * 16] == 0, empty) << i;
    }
}

TEST(Tree, PredictionsTakeADrawnOneInItsPlace) {
    WorkloadCall call("b=4,h=32/8,q=8,k=8192,d=128,dtype=bf16,tree=1");
    const DecodeArgs args = call.decode_args();
    const PredictedTime time = predict_decode(args, "h200");
    EXPECT_EQ(time.kernel, "decode_sm90_tree");
    const PredictedTime same =
        predict_shape("b=4,h=32/8,q=8,k=8192,d=128,dtype=bf16,tree=1", "h200");
    EXPECT_EQ(time.seconds, same.seconds);
    EXPECT_EQ(time.tile, same.tile);
}

TEST(CTree, GivesTheAnswerOfTheCppInterface) {
    const char* const shape = "b=2,h=8/2,q=5,k=90;41,d=64,dtype=bf16,page=16,tree=8";
    WorkloadCall call(shape);
    const tests::CDecodeCall given(call.decode_args());
    rl_decode_args args = given.args;
    std::size_t bytes = 0;
    ASSERT_EQ(rl_decode_workspace(&args, RL_CPU, &bytes), RL_OK) << rl_last_error();
    const tests::Workspace workspace(bytes);
    ASSERT_EQ(rl_decode(&args, RL_CPU, nullptr, workspace.execution.workspace, bytes), RL_OK)
        << rl_last_error();
    WorkloadCall twin(shape);
    tests::run(twin.decode_args());
    EXPECT_EQ(std::memcmp(twin.out.data(), call.out.data(), call.out.size()), 0);
    // A program built against the header before the tree came has none.
    WorkloadCall full("b=2,h=8/2,q=5,k=90;41,d=64,dtype=bf16,page=16");
    tests::run(full.decode_args());
    args.struct_size = offsetof(rl_decode_args, tree);
    ASSERT_EQ(rl_decode(&args, RL_CPU, nullptr, workspace.execution.workspace, bytes), RL_OK)
        << rl_last_error();
    EXPECT_EQ(std::memcmp(full.out.data(), call.out.data(), call.out.size()), 0);
    EXPECT_NE(std::memcmp(twin.out.data(), call.out.data(), call.out.size()), 0);
}

}  // namespace
}  // namespace raceline
