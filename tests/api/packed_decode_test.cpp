// SPDX-License-Identifier: Apache-2.0
// decode of sequences with different numbers of new tokens.
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/answers.hpp"

namespace raceline {
namespace {

using tests::expect_right;
using tests::WorkloadCall;

/// The call of one sequence of a packed call, and where its rows of out and lse stand.
DecodeArgs of_sequence(const DecodeArgs& all, std::int64_t b) {
    const std::int64_t first = all.cu_seqlens_q[b];
    const std::int64_t tokens = all.cu_seqlens_q[b + 1] - first;
    DecodeArgs one = all;
    one.cu_seqlens_q = nullptr;
    one.cu_seqlens_count = one.max_seqlen_q = 0;
    one.seqlens_k += b;
    one.block_table += b * all.block_table_stride;
    for (TensorView* view : {&one.q, &one.out, &one.lse}) {
        const std::int64_t stride = view->strides[0];
        view->data = static_cast<float*>(view->data) + first * stride;
        view->shape[0] = tokens;
        view->shape.insert(view->shape.begin(), 1);
        view->strides.insert(view->strides.begin(), tokens * stride);
    }
    return one;
}

TEST(PackedDecode, SequencesGetWhatEachGetsAlone) {
    for (const std::int64_t bound : {7, 8, 16, 1000}) {
        const char* const shape =
            "b=5,h=8/2,q=3;1;0;7;1,k=300;17;5;90;0,d=64,dtype=fp32,page=16,causal";
        WorkloadCall together(shape), apart(shape);
        DecodeArgs args = together.decode_args();
        args.max_seqlen_q = bound;
        tests::run(args);
        for (std::int64_t b = 0; b < 5; ++b) {
            tests::run(of_sequence(apart.decode_args(), b));
        }
        const auto equal = [](const tests::GuardedBytes& a, const tests::GuardedBytes& b) {
            const auto* const x = reinterpret_cast<const float*>(a.data());
            const auto* const y = reinterpret_cast<const float*>(b.data());
            for (std::size_t i = 0; i < a.size() / sizeof(float); ++i) {
                ASSERT_TRUE(x[i] == y[i] || std::abs(x[i] - y[i]) < 1e-5F) << i;
            }
        };
        equal(together.out, apart.out);
        equal(together.lse, apart.lse);
        expect_right(together);
    }
}

// The bound alone decides on the workspace: one serves all lengths, as a captured graph needs.
TEST(PackedDecode, WorkspaceFollowsTheBound) {
    WorkloadCall call("b=4,h=8/2,q=9;1;1;1,k=900;900;9;9,d=64,dtype=fp32,page=16,causal");
    const std::size_t bytes = decode_workspace(call.decode_args(), Place::cpu);
    for (const char* shape : {"b=4,h=8/2,q=3;3;3;3,k=900;900;9;9,d=64,dtype=fp32,page=16,causal",
                              "b=4,h=8/2,q=0;9;3;0,k=900;900;9;9,d=64,dtype=fp32,page=16,causal"}) {
        WorkloadCall step(shape);
        DecodeArgs args = step.decode_args();
        args.max_seqlen_q = 9;
        EXPECT_EQ(decode_workspace(args, Place::cpu), bytes) << shape;
        const tests::Workspace workspace(bytes);
        decode(args, workspace.execution);
        expect_right(step);
    }
}

TEST(PackedDecode, NothingHappensWithoutQueries) {
    const std::int32_t sums[3] = {0, 0, 0};
    DecodeArgs args;
    args.q = args.out = TensorView::contiguous(nullptr, DType::fp32, {0, 2, 8});
    args.k_cache = args.v_cache = TensorView::contiguous(nullptr, DType::fp32, {2, 0, 2, 8});
    args.cu_seqlens_q = sums;
    for (const std::int64_t count : {3, 1}) {
        args.cu_seqlens_count = count;
        args.k_cache.shape[0] = args.v_cache.shape[0] = count - 1;
        EXPECT_EQ(decode_workspace(args, Place::cpu), 0U);
        EXPECT_NO_THROW(decode(args, {}));
    }
}

// The host knows the total and a bound: one sequence has that many tokens, nobody is without one.
TEST(PackedDecode, PredictionsGoByTheBound) {
    DecodeArgs args;
    args.q = TensorView::contiguous(nullptr, DType::bf16, {12, 32, 128});
    args.out = args.q;
    args.k_cache = args.v_cache = TensorView::contiguous(nullptr, DType::bf16, {999, 64, 8, 128});
    args.max_seqlen_k = 8192;
    static const std::int32_t table = 0;
    args.block_table = &table;
    args.block_table_stride = 128;
    args.cu_seqlens_count = 5;
    args.options.causal = true;
    const auto shape = [](const char* q) {
        return predict_shape(fmt::format("b=4,h=32/8,q={},k=8192;8192;8192;8192,d=128,dtype=bf16,"
                                         "page=64,causal",
                                         q),
                             "h200");
    };
    args.max_seqlen_q = 6;
    const PredictedTime given = predict_decode(args, "h200");
    EXPECT_EQ(given.kernel, "decode_sm90");
    EXPECT_EQ(given.seconds, shape("6;2;2;2").seconds);
    args.max_seqlen_q = 0;
    EXPECT_EQ(predict_decode(args, "h200").seconds, shape("12;1;1;1").seconds);
    args.max_seqlen_q = 2;
    EXPECT_THROW(predict_decode(args, "h200"), Error);
    args.max_seqlen_q = 17;
    args.q.shape[0] = args.out.shape[0] = 17;
    args.options.backend = "decode_sm90";
    EXPECT_THROW(predict_decode(args, "h200"), Error);
}

}  // namespace
}  // namespace raceline
