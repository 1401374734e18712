// SPDX-License-Identifier: Apache-2.0
// raceline.h: statuses, sentences, sizes of structs; that no exception crosses, no output changes.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "raceline/raceline.h"
#include "tests/api/c_view.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using tests::c_view;
using tests::WorkloadCall;

// A forward call's C arguments over the C++ ones.
class CForward : public testing::Test {
protected:
    CForward() {
        args.q = &q;
        args.k = &k;
        args.v = &v;
        args.out = &out;
        args.lse = &lse;
        args.options = &options;
        options.causal = 1;
    }
    rl_status run() {
        return rl_forward(&args, RL_CPU, nullptr, workspace.execution.workspace,
                          workspace.execution.workspace_bytes);
    }
    void expect_refused(rl_status status, const char* said) {
        EXPECT_EQ(run(), status);
        EXPECT_THAT(rl_last_error(), HasSubstr(said));
        EXPECT_TRUE(call.out.untouched());
        EXPECT_TRUE(call.lse.untouched());
    }

    WorkloadCall call{"b=1,h=4/2,q=33,k=70,d=64,dtype=fp32,causal"};
    ForwardArgs good = call.forward_args();
    rl_tensor q = c_view(good.q), k = c_view(good.k), v = c_view(good.v), out = c_view(good.out),
              lse = c_view(good.lse);
    rl_options options = RL_INIT(rl_options);
    rl_forward_args args = RL_INIT(rl_forward_args);
    tests::Workspace workspace{std::size_t{1} << 22};
};

TEST_F(CForward, GivesTheAnswerOfTheCppInterface) {
    std::size_t bytes = 0;
    ASSERT_EQ(rl_forward_workspace(&args, RL_CPU, &bytes), RL_OK) << rl_last_error();
    EXPECT_EQ(bytes, forward_workspace(good, Place::cpu));
    ASSERT_EQ(run(), RL_OK) << rl_last_error();
    EXPECT_STREQ(rl_last_error(), "");
    WorkloadCall twin("b=1,h=4/2,q=33,k=70,d=64,dtype=fp32,causal");
    tests::run(twin.forward_args());
    EXPECT_EQ(std::memcmp(twin.out.data(), call.out.data(), call.out.size()), 0);
    EXPECT_EQ(std::memcmp(twin.lse.data(), call.lse.data(), call.lse.size()), 0);
}

TEST_F(CForward, RefusesNullPointers) {
    EXPECT_EQ(rl_forward(nullptr, RL_CPU, nullptr, nullptr, 0), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("args is a null pointer"));
    EXPECT_EQ(rl_forward_workspace(&args, RL_CPU, nullptr), RL_INVALID_ARGUMENT);
    args.k = nullptr;
    expect_refused(RL_INVALID_ARGUMENT, "k is a null pointer");
}

TEST_F(CForward, TakesScalesOfEightBitTensorsAndStructsThatDoNotKnowThem) {
    const float scales[2] = {1, 1};
    args.struct_size = offsetof(rl_forward_args, q_scale);
    args.q_scale = scales;  // behind the end of this caller's struct
    EXPECT_EQ(run(), RL_OK) << rl_last_error();
    args.struct_size = offsetof(rl_forward_args, max_seqlen_q);
    EXPECT_EQ(run(), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("v_scale is given for fp32 tensors"));
    args.struct_size = sizeof(args);
    EXPECT_EQ(run(), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("v_scale is given for fp32 tensors"));
}

TEST_F(CForward, RefusesWildSizesTypesRanksAndPlaces) {
    args.struct_size = 0;
    expect_refused(RL_INVALID_ARGUMENT, "args.struct_size is 0; it must be sizeof the struct");
    args.struct_size = ~std::size_t{0};
    expect_refused(RL_INVALID_ARGUMENT, "args.struct_size is 18446744073709551615");
    args.struct_size = sizeof(args);
    q.rank = 5;
    expect_refused(RL_INVALID_ARGUMENT, "q.rank is 5; it must be 1 to 4");
    q.rank = 4;
    q.dtype = 9;
    expect_refused(RL_INVALID_ARGUMENT, "q.dtype is 9");
    q.dtype = RL_FP32;
    EXPECT_EQ(rl_forward(&args, 7, nullptr, nullptr, 0), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("place is 7"));
    args.cu_seqlens_count = -1;
    expect_refused(RL_INVALID_ARGUMENT, "cu_seqlens_count is -1");
    args.cu_seqlens_count = 2;
    expect_refused(RL_INVALID_ARGUMENT, "cu_seqlens_q is a null pointer");
}

TEST_F(CForward, RefusesStructsOfANewerVersion) {
    struct Newer {
        rl_options known;
        std::int64_t unknown;
    } newer{RL_INIT(rl_options), 0};
    newer.known.struct_size = sizeof(newer);
    args.options = &newer.known;
    EXPECT_EQ(run(), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("options.struct_size is"));
}

// A size that is none of those that the struct has had may end within a member: half a pointer was
// followed once. Every size up to twice the struct's own is tried.
template <class T, class Call>
void expect_known_sizes_only(T good, std::initializer_list<std::size_t> known, const Call& call) {
    for (std::size_t size = 0; size <= 2 * sizeof(T); ++size) {
        good.struct_size = size;
        const rl_status status = call(&good);
        if (std::find(known.begin(), known.end(), size) == known.end()) {
            EXPECT_EQ(status, RL_INVALID_ARGUMENT) << size;
            EXPECT_THAT(rl_last_error(),
                        HasSubstr(".struct_size is " + std::to_string(size) + ";"));
        } else {
            EXPECT_EQ(status, RL_OK) << size << ": " << rl_last_error();
        }
    }
}

TEST_F(CForward, TakesKnownStructSizesOnly) {
    const auto with = [&](auto change) {
        return [this, change](auto* given) {
            change(given);
            return run();
        };
    };
    const rl_forward_args good_args = args;
    expect_known_sizes_only(args,
                            {offsetof(rl_forward_args, q_scale),
                             offsetof(rl_forward_args, max_seqlen_q), sizeof(rl_forward_args)},
                            [&](const rl_forward_args* given) {
                                args = *given;
                                return run();
                            });
    args = good_args;
    expect_known_sizes_only(options, {offsetof(rl_options, accuracy), sizeof(rl_options)},
                            with([this](const rl_options* given) { args.options = given; }));
    args = good_args;
    expect_known_sizes_only(q, {sizeof(rl_tensor)},
                            with([this](const rl_tensor* given) { args.q = given; }));
}

TEST(CPrediction, TakesKnownStructSizesOnly) {
    rl_case which = RL_INIT(rl_case);
    which.shape = "h=2,q=16,k=16,d=64";
    which.device = "h200";
    expect_known_sizes_only(which, {sizeof(rl_case)}, [](const rl_case* given) {
        char* json = nullptr;
        const rl_status status = rl_predict_case(given, &json);
        rl_free(json);
        return status;
    });
}

TEST_F(CForward, TakesAnAccuracyAndOptionsThatDoNotKnowIt) {
    options.accuracy = RL_FAST;  // of fp32 the same
    EXPECT_EQ(run(), RL_OK) << rl_last_error();
    WorkloadCall eight("b=1,h=4/2,q=33,k=70,d=64,dtype=e4m3");
    ForwardArgs given = eight.forward_args();
    for (const Accuracy accuracy : {Accuracy::accurate, Accuracy::fast}) {
        given.options.accuracy = accuracy;
        const PredictedTime time = predict_forward(given, "h200");
        EXPECT_EQ(time.kernel, "prefill_sm90_fp8");
        EXPECT_TRUE(accuracy == Accuracy::fast || time.tile.find("promote=1") != std::string::npos)
            << time.tile;
    }
    options.accuracy = 2;
    options.struct_size = offsetof(rl_options, accuracy);  // behind the end of this caller's struct
    EXPECT_EQ(run(), RL_OK) << rl_last_error();
    options.struct_size = sizeof(options);
    EXPECT_EQ(run(), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("options.accuracy is 2; it must be 0 (accurate) or 1"));
}

TEST_F(CForward, CarriesWhatTheCppInterfaceRefuses) {
    out.strides[0] = 0;
    out.strides[1] = 0;
    expect_refused(RL_INVALID_ARGUMENT, "alias");
    out = c_view(good.out);
    workspace.execution.workspace_bytes = 0;
    options.backend = "cpu_flsh";
    expect_refused(RL_INVALID_ARGUMENT, "did you mean 'cpu_flash'?");
}

TEST_F(CForward, KeepsSentencesApartByThread) {
    args.q = nullptr;
    EXPECT_NE(run(), RL_OK);
    std::thread([] {
        EXPECT_STREQ(rl_last_error(), "");
        EXPECT_NE(rl_predict_shape("b=0", nullptr, nullptr, nullptr), RL_OK);
        EXPECT_THAT(rl_last_error(), HasSubstr("json is a null pointer"));
    }).join();
    EXPECT_THAT(rl_last_error(), HasSubstr("q is a null pointer"));
}

TEST(CDecode, GivesTheAnswerOfTheCppInterface) {
    WorkloadCall call("b=2,h=8/2,q=1,k=90;41,d=64,dtype=bf16,page=16,causal");
    const tests::CDecodeCall same(call.decode_args());
    rl_options options = RL_INIT(rl_options);
    options.causal = options.checked = 1;
    rl_decode_args args = same.args;
    args.options = &options;
    std::size_t bytes = 0;
    ASSERT_EQ(rl_decode_workspace(&args, RL_CPU, &bytes), RL_OK) << rl_last_error();
    const tests::Workspace workspace(bytes);
    call.inputs.block_table[0] = -5;
    EXPECT_EQ(rl_decode(&args, RL_CPU, nullptr, workspace.execution.workspace, bytes),
              RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("block_table[0][0] is page -5"));
    EXPECT_TRUE(call.out.untouched());

    WorkloadCall twin("b=2,h=8/2,q=1,k=90;41,d=64,dtype=bf16,page=16,causal");
    tests::run(twin.decode_args());
    call.inputs.block_table = twin.inputs.block_table;
    args.block_table = call.inputs.block_table.data();
    ASSERT_EQ(rl_decode(&args, RL_CPU, nullptr, workspace.execution.workspace, bytes), RL_OK)
        << rl_last_error();
    EXPECT_EQ(std::memcmp(twin.out.data(), call.out.data(), call.out.size()), 0);
    const rl_decode_args good_args = args;
    expect_known_sizes_only(args,
                            {offsetof(rl_decode_args, tree),
                             offsetof(rl_decode_args, cu_seqlens_count), sizeof(rl_decode_args)},
                            [&](const rl_decode_args* given) {
                                return rl_decode(given, RL_CPU, nullptr,
                                                 workspace.execution.workspace, bytes);
                            });
    args = good_args;
}

TEST(CDecode, TakesPackedQueries) {
    const char* const shape = "b=3,h=8/2,q=5;0;2,k=90;3;41,d=64,dtype=bf16,page=16";
    WorkloadCall call(shape), twin(shape);
    const tests::CDecodeCall same(call.decode_args());
    rl_decode_args args = same.args;
    std::size_t bytes = 0;
    ASSERT_EQ(rl_decode_workspace(&args, RL_CPU, &bytes), RL_OK) << rl_last_error();
    const tests::Workspace workspace(bytes);
    const auto run = [&] {
        return rl_decode(&args, RL_CPU, nullptr, workspace.execution.workspace, bytes);
    };
    ASSERT_EQ(run(), RL_OK) << rl_last_error();
    tests::run(twin.decode_args());
    EXPECT_EQ(std::memcmp(twin.out.data(), call.out.data(), call.out.size()), 0);
    args.max_seqlen_q = 4;
    EXPECT_EQ(run(), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("cu_seqlens_q has a sequence of 5 tokens"));
    // A program built against the header before the sums came has a packed q for nobody.
    args.struct_size = offsetof(rl_decode_args, cu_seqlens_count);
    EXPECT_EQ(run(), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("q has 3 sizes and 3 strides; this call takes 4"));
}

}  // namespace
}  // namespace raceline
