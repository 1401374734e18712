// SPDX-License-Identifier: Apache-2.0
// What calls leave in the output, against the float64 answer.
#include "tests/api/answers.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

namespace raceline {
namespace {

using tests::expect_right;
using tests::Layout;
using tests::precision_of;
using tests::WorkloadCall;

class ForwardAnswers : public testing::TestWithParam<std::tuple<const char*, Layout>> {};

TEST_P(ForwardAnswers, EqualTheOracle) {
    const auto [shape, layout] = GetParam();
    WorkloadCall call(shape, layout);
    tests::run(call.forward_args());
    expect_right(call);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ForwardAnswers,
    testing::Combine(testing::Values("b=2,h=4/2,q=37,k=53,d=64,dtype=fp32,causal",
                                     "b=1,h=3,q=130,k=130,d=80/48,dtype=fp32",
                                     "b=2,h=8/1,q=19,k=257,d=128,dtype=bf16,causal,window=31",
                                     "b=1,h=2,q=65,k=64,d=33,dtype=fp16,softcap=20,sinks",
                                     "b=3,h=2,q=1,k=300,d=64,dtype=bf16",
                                     "b=1,h=4/2,q=40,k=8,d=64,dtype=fp32,causal,scale=0.3"),
                     testing::Values(Layout::packed, Layout::heads_first)));

INSTANTIATE_TEST_SUITE_P(
    Ragged, ForwardAnswers,
    testing::Combine(testing::Values("b=4,h=4/2,q=5;0;70;1,k=9;3;70;0,d=64,dtype=fp32,causal",
                                     "b=3,h=2,q=1,k=100;2048;7,d=64,dtype=bf16",
                                     "b=2,h=2,q=0;2,k=0;4,d=32,dtype=fp32"),
                     testing::Values(Layout::packed)));

class DecodeAnswers : public testing::TestWithParam<std::tuple<const char*, Layout>> {};

TEST_P(DecodeAnswers, EqualTheOracle) {
    const auto [shape, layout] = GetParam();
    WorkloadCall call(shape, layout);
    DecodeArgs args = call.decode_args();
    args.options.checked = true;  // garbage past a sequence's pages must not be looked at
    tests::run(args);
    expect_right(call);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DecodeAnswers,
    testing::Combine(testing::Values("b=2,h=8/2,q=1,k=513,d=64,dtype=fp32,causal",
                                     "b=3,h=8/1,q=2,k=77,d=128,dtype=bf16,causal,sinks",
                                     // No float is as small as the scale over the cap.
                                     "h=2,q=1,k=100,d=64,dtype=fp32,scale=1e-30,softcap=1e20",
                                     "h=2,q=20,k=100,d=64,dtype=fp32,scale=1e-30,softcap=1e20",
                                     "h=2,q=1,k=100,d=64,dtype=fp32,softcap=3e38"),
                     testing::Values(Layout::packed, Layout::heads_first)));

INSTANTIATE_TEST_SUITE_P(
    Paged, DecodeAnswers,
    testing::Combine(
        testing::Values("b=3,h=8/2,q=1,k=300;17;0,d=64,dtype=fp32,page=16,causal",
                        "b=2,h=4,q=3,k=65;64,d=64,dtype=bf16,page=64,causal",
                        "b=2,h=8/2,q=1,k=500;3,d=128,dtype=bf16,kv=e4m3,page=32",
                        "b=2,h=8/2,q=1,k=500;3,d=128,dtype=bf16,kv=e4m3,scales=token,page=32",
                        "b=2,h=8/2,q=9,k=150,d=64,dtype=fp16,kv=e4m3,scales=token,causal"),
        testing::Values(Layout::packed)));

INSTANTIATE_TEST_SUITE_P(
    PackedQueries, DecodeAnswers,
    testing::Combine(
        testing::Values("b=4,h=8/2,q=5;0;16;1,k=300;17;40;0,d=64,dtype=fp32,page=16,causal",
                        "b=3,h=8/1,q=3;1;2,k=77,d=128,dtype=bf16,causal,sinks",
                        "b=2,h=4/2,q=40;3,k=65;64,d=64,dtype=bf16,page=64,window=9",
                        "b=2,h=8/2,q=1;6,k=500;30,d=128,dtype=bf16,kv=e4m3,scales=token,page=32",
                        "b=3,h=8/2,q=4;2;0,k=90;3;9,d=64,dtype=bf16,page=16,tree=4",
                        "b=2,h=16,q=2;1,k=200;37,mla=512+64,dtype=bf16,page=16,causal"),
        testing::Values(Layout::packed)));

INSTANTIATE_TEST_SUITE_P(
    Latent, DecodeAnswers,
    testing::Combine(testing::Values("b=2,h=16,q=1,k=200,mla=64+16,dtype=bf16,causal",
                                     "b=2,h=16,q=1,k=200;37,mla=512+64,dtype=bf16,page=16",
                                     "h=128,q=1,k=90,mla=512+64,dtype=fp16"),
                     testing::Values(Layout::packed)));

// The workspace is asked for once, for the longest context, and serves every shorter one.
TEST(Decode, WorkspaceOfTheLongestContextServesAllLengths) {
    WorkloadCall call("b=2,h=8/2,q=1,k=900;900,d=64,dtype=fp32,page=16");
    const std::size_t bytes = decode_workspace(call.decode_args(), Place::cpu);
    for (const char* shape : {"b=2,h=8/2,q=1,k=900;1,d=64,dtype=fp32,page=16",
                              "b=2,h=8/2,q=1,k=900;450,d=64,dtype=fp32,page=16",
                              "b=2,h=8/2,q=1,k=900;0,d=64,dtype=fp32,page=16"}) {
        WorkloadCall step(shape);
        EXPECT_EQ(decode_workspace(step.decode_args(), Place::cpu), bytes) << shape;
        const tests::Workspace workspace(bytes);
        decode(step.decode_args(), workspace.execution);
        expect_right(step);
    }
}

TEST(Forward, QueriesWithoutKeysGetZerosAndMinusInfinity) {
    std::vector<float> q(2 * 3 * 2 * 8, 1.0F), out(q.size(), 5.0F), lse(2 * 3 * 2, 5.0F);
    ForwardArgs args;
    args.q = TensorView::contiguous(q.data(), DType::fp32, {2, 3, 2, 8});
    args.k = TensorView::contiguous(nullptr, DType::fp32, {2, 0, 2, 8});
    args.v = TensorView::contiguous(nullptr, DType::fp32, {2, 0, 2, 8});
    args.out = TensorView::contiguous(out.data(), DType::fp32, {2, 3, 2, 8});
    args.lse = TensorView::contiguous(lse.data(), DType::fp32, {2, 3, 2});
    tests::run(args);
    for (const float value : out) {
        EXPECT_EQ(value, 0.0F);
    }
    for (const float value : lse) {
        EXPECT_EQ(value, -std::numeric_limits<float>::infinity());
    }
}

TEST(Forward, NothingHappensWithoutQueries) {
    ForwardArgs args;
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{0, 4, 2, 8}, {2, 0, 2, 8}, {2, 4, 0, 8}}) {
        args.q = TensorView::contiguous(nullptr, DType::fp32, shape);
        args.k = args.v = TensorView::contiguous(nullptr, DType::fp32, {shape[0], 0, 2, 8});
        args.out = args.q;
        EXPECT_EQ(forward_workspace(args, Place::cpu), 0U);
        EXPECT_NO_THROW(forward(args, {}));
    }
}

// Broadcasting an input is harmless: one K and V for the whole batch.
TEST(Forward, InputsMayRepeatElements) {
    WorkloadCall call("b=1,h=2,q=9,k=20,d=16,dtype=fp32");
    ForwardArgs one = call.forward_args();
    tests::run(one);
    std::vector<float> twice(2 * 9 * 2 * 16, -1.0F);
    ForwardArgs args = one;
    args.lse = {};
    args.q.shape[0] = args.k.shape[0] = args.v.shape[0] = 2;
    args.q.strides[0] = args.k.strides[0] = args.v.strides[0] = 0;
    args.out = TensorView::contiguous(twice.data(), DType::fp32, {2, 9, 2, 16});
    tests::run(args);
    EXPECT_EQ(std::memcmp(twice.data(), call.out.data(), call.out.size()), 0);
    EXPECT_EQ(std::memcmp(twice.data() + twice.size() / 2, call.out.data(), call.out.size()), 0);
}

// No element is a stride away from the only one, so that the stride may be any number.
TEST(Forward, DimensionsOfOneElementMayHaveAnyStride) {
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    WorkloadCall right("b=1,h=1,q=9,k=20,d=16,dtype=fp32");
    tests::run(right.forward_args());
    WorkloadCall call("b=1,h=1,q=9,k=20,d=16,dtype=fp32");
    ForwardArgs args = call.forward_args();
    for (TensorView* view : {&args.q, &args.k, &args.v, &args.out, &args.lse}) {
        view->strides[0] = view->strides[2] = any;
    }
    tests::run(args);
    EXPECT_EQ(std::memcmp(right.out.data(), call.out.data(), call.out.size()), 0);
    EXPECT_EQ(std::memcmp(right.lse.data(), call.lse.data(), call.lse.size()), 0);
}

TEST(Decode, CachesOfOneHeadMayHaveAnyStrideBetweenHeads) {
    const char* shape = "b=2,h=1,q=1,k=90,d=16,dtype=fp32,causal";
    WorkloadCall right(shape);
    tests::run(right.decode_args());
    WorkloadCall call(shape);
    DecodeArgs args = call.decode_args();
    for (TensorView* view : {&args.k_cache, &args.v_cache}) {
        view->strides[2] = std::numeric_limits<std::int64_t>::max();
    }
    tests::run(args);
    EXPECT_EQ(std::memcmp(right.out.data(), call.out.data(), call.out.size()), 0);
}

// An LSE of any strides: (heads, seqlen) here.
TEST(Forward, LseMayBeTransposed) {
    WorkloadCall call("b=1,h=3,q=9,k=20,d=16,dtype=fp32");
    ForwardArgs args = call.forward_args();
    tests::run(args);
    std::vector<float> packed(27), transposed(27, -1.0F);
    std::memcpy(packed.data(), call.lse.data(), call.lse.size());
    args.lse = {transposed.data(), DType::fp32, {1, 9, 3}, {27, 1, 9}};
    tests::run(args);
    for (std::size_t i = 0; i < 9; ++i) {
        for (std::size_t h = 0; h < 3; ++h) {
            EXPECT_EQ(transposed[h * 9 + i], packed[i * 3 + h]);
        }
    }
}

TEST(Threads, ManyCallersGetTheirOwnAnswers) {
    std::vector<std::thread> callers;
    std::vector<std::string> wrong(4);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        callers.emplace_back([t, &wrong] {
            // Lengths differ a little from call to call: hits and misses of the memory mix.
            for (std::uint64_t i = 0; i < 6 && wrong[t].empty(); ++i) {
                const auto n = static_cast<int>(20 + 17 * i + t);
                WorkloadCall forward(fmt::format("b=1,h=4/2,q={0},k={0},d=32,dtype=fp32,causal", n),
                                     Layout::packed, 10 * t + i);
                tests::run(forward.forward_args());
                WorkloadCall decode(fmt::format("b=2,h=4/2,q=1,k={},d=64,dtype=bf16,page=16", n),
                                    Layout::packed, 10 * t + i);
                tests::run(decode.decode_args());
                wrong[t] = forward.verdict(precision_of(forward)).why +
                           decode.verdict(precision_of(decode)).why;
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    for (const std::string& why : wrong) {
        EXPECT_EQ(why, "");
    }
}

TEST(Threads, OptionLimitsCoresAndKeepsTheAnswer) {
    for (const int threads : {1, 2, 3}) {
        WorkloadCall call("b=2,h=4/2,q=33,k=200,d=64,dtype=fp32,causal");
        ForwardArgs args = call.forward_args();
        args.options.threads = threads;
        tests::run(args);
        expect_right(call);
        EXPECT_EQ(api::remembered_engine(call.workload, Place::cpu, threads, "").device->units,
                  threads);
    }
}

}  // namespace
}  // namespace raceline
