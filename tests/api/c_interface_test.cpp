// SPDX-License-Identifier: Apache-2.0
// raceline.h: statuses, sentences, sizes of structs; that no exception crosses, no output changes.
#include <cstddef>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "raceline/raceline.h"
#include "support/json.hpp"
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

TEST_F(CForward, ReadsOlderAndNewerStructs) {
    // Older: the options ended before `checked` and `threads`, whose bytes are now garbage.
    options.struct_size = offsetof(rl_options, checked);
    options.checked = options.threads = -77;
    EXPECT_EQ(run(), RL_OK) << rl_last_error();
    // Newer: longer by members that this version does not know; only clear ones may be ignored.
    struct Newer {
        rl_options known;
        std::int64_t unknown;
    } newer{RL_INIT(rl_options), 0};
    newer.known.struct_size = sizeof(newer);
    args.options = &newer.known;
    EXPECT_EQ(run(), RL_OK) << rl_last_error();
    newer.unknown = 1;
    EXPECT_EQ(run(), RL_UNSUPPORTED);
    EXPECT_THAT(rl_last_error(), HasSubstr("options has a member set that raceline"));
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
    const DecodeArgs good = call.decode_args();
    const rl_tensor q = c_view(good.q), k = c_view(good.k_cache), v = c_view(good.v_cache),
                    out = c_view(good.out);
    rl_options options = RL_INIT(rl_options);
    options.causal = options.checked = 1;
    rl_decode_args args = RL_INIT(rl_decode_args);
    args.q = &q;
    args.k_cache = &k;
    args.v_cache = &v;
    args.out = &out;
    args.options = &options;
    args.seqlens_k = good.seqlens_k;
    args.max_seqlen_k = good.max_seqlen_k;
    args.block_table = good.block_table;
    args.block_table_stride = good.block_table_stride;
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
}

TEST(CPrediction, IsTheContentOfAPredictionRow) {
    char* text = nullptr;
    ASSERT_EQ(rl_predict_shape("b=64,h=64/8,q=1,k=32768,d=128,dtype=bf16", "h200", nullptr, &text),
              RL_OK)
        << rl_last_error();
    const Json row = parse_json(text, "prediction");
    rl_free(text);
    EXPECT_EQ(row.at("device").at("id"), "h200");
    const PredictedTime time = predict_shape("b=64,h=64/8,q=1,k=32768,d=128,dtype=bf16", "h200");
    EXPECT_EQ(row.at("prediction").at("seconds").get<double>(), time.seconds);
    EXPECT_EQ(row.at("kernel").get<std::string>(), time.kernel);
    double sum = 0;
    for (const auto& [term, seconds] : time.terms) {
        sum += seconds;
    }
    EXPECT_NEAR(sum, time.seconds, 1e-9 * time.seconds);
    // 64 caches of 32768 × 8 heads × 2 × 128 bf16 = 8.6 GB cannot cross 4.8 TB/s in less.
    EXPECT_GT(time.seconds, 64.0 * 32768 * 8 * 2 * 128 * 2 / 4.8e12);
}

TEST(CPrediction, RefusesWithTheFieldAndTheDeviceNamed) {
    char* text = nullptr;
    EXPECT_EQ(rl_predict_shape("b=1,hh=2", nullptr, nullptr, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("hh"));
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(rl_predict_shape("b=1,h=2,q=4,k=4,d=64", "h2000", nullptr, &text), RL_NO_DEVICE);
    EXPECT_THAT(rl_last_error(), HasSubstr("h200"));
}

Json predicted(const rl_case& which) {
    char* text = nullptr;
    EXPECT_EQ(rl_predict_case(&which, &text), RL_OK) << rl_last_error();
    Json row = text == nullptr ? Json() : parse_json(text, "prediction");
    rl_free(text);
    return row;
}

TEST(CPrediction, TakesALaunchPathAndThreads) {
    rl_case which = RL_INIT(rl_case);
    which.shape = "b=1,h=8/2,q=1,k=64,d=128,dtype=bf16";
    which.device = "h200";
    const Json stream = predicted(which);
    which.launch_path = "graph";
    const Json graph = predicted(which);
    EXPECT_EQ(stream.at("case").at("launch_path"), "stream");
    EXPECT_EQ(graph.at("case").at("launch_path"), "graph");
    EXPECT_EQ(graph.at("tile"), stream.at("tile"));
    EXPECT_LT(graph.at("prediction").at("seconds").get<double>(),
              stream.at("prediction").at("seconds").get<double>());
    which.launch_path = "carriage";
    char* text = nullptr;
    EXPECT_EQ(rl_predict_case(&which, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("launch_path is 'carriage'"));
    which.launch_path = nullptr;
    which.device = "cpu";
    which.threads = 1;
    EXPECT_EQ(predicted(which).at("case").at("threads"), 1);
}

// 2049 keys share the decision of 2304: the row must name the tile that a call really takes there.
TEST(CPrediction, NamesTheTileThatACallTakes) {
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200);
    const api::Candidates any{.backend = "", .must_run = false};
    int differing = 0;
    for (int length = 17; length < 5000; length += length / 5) {
        const std::string shape = fmt::format("b=1,h=8,q={0},k={0},d=128,dtype=bf16", length);
        rl_case which = RL_INIT(rl_case);
        which.shape = shape.c_str();
        which.device = "h200";
        const Workload workload = parse_shape(shape);
        const auto call = api::choose_engine(api::representative(workload), h200, 0, any);
        const Json row = predicted(which);
        EXPECT_EQ(row.at("kernel"), call.kernel->name) << shape;
        for (const auto& [field, value] : call.kernel->tile(call.tile)) {
            EXPECT_EQ(row.at("tile").at(std::string(field)), value) << shape;
        }
        const auto own = api::choose_engine(workload, h200, 0, any);
        differing += own.tile != call.tile ? 1 : 0;
    }
    EXPECT_GT(differing, 0) << "shapes whose own choice is the shared one prove nothing";
}

TEST(CSuite, ListsShapesThatCanBePredicted) {
    char* text = nullptr;
    ASSERT_EQ(rl_suite("training-16k", nullptr, &text), RL_OK) << rl_last_error();
    const Json shapes = parse_json(text, "suite");
    rl_free(text);
    ASSERT_EQ(shapes.size(), 36U);
    for (const Json& shape : shapes) {
        const Workload w = parse_shape(shape.get<std::string>());
        EXPECT_EQ(w.tokens_q(), 16384);
        EXPECT_EQ(w.dtype, DType::bf16);
    }
    ASSERT_EQ(rl_suite("training-16k", "fp16", &text), RL_OK) << rl_last_error();
    EXPECT_EQ(parse_shape(parse_json(text, "suite").at(0).get<std::string>()).dtype, DType::fp16);
    rl_free(text);
    EXPECT_EQ(rl_suite("trainin-16k", nullptr, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("training-16k"));
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(rl_suite("ladder", "float", &text), RL_INVALID_ARGUMENT);
}

TEST(CDevices, ListsThisMachineAndTheDatasheets) {
    char* text = nullptr;
    ASSERT_EQ(rl_devices(&text), RL_OK) << rl_last_error();
    const Json all = parse_json(text, "devices");
    rl_free(text);
    int live = 0;
    bool h200 = false;
    for (const Json& device : all) {
        live += device.at("live").get<bool>() ? 1 : 0;
        h200 |= device.at("id") == "h200";
    }
    EXPECT_GE(live, 1);
    EXPECT_TRUE(h200);
    EXPECT_STREQ(rl_dtype_name(RL_BF16), "bf16");
    EXPECT_STREQ(rl_dtype_name(55), "?");
    EXPECT_EQ(version(), rl_version());
}

}  // namespace
}  // namespace raceline
