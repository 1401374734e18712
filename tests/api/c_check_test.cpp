// SPDX-License-Identifier: Apache-2.0
// raceline.h: the gate over outputs that somebody else computed.
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "raceline/raceline.h"
#include "registry/registry.hpp"
#include "support/json.hpp"
#include "tests/api/c_view.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using tests::c_view;
using tests::Layout;
using tests::WorkloadCall;

// A forward call that was answered by cpu_flash, as a foreign output would be handed in.
class Answered {
public:
    explicit Answered(const std::string& shape, Layout layout = Layout::packed)
        : call(shape, layout), given(call.forward_args()) {
        tests::run(given);
        options.causal = given.options.causal ? 1 : 0;
        options.softcap = given.options.softcap;
        options.sinks = given.options.sinks;
        args.q = &q;
        args.k = &k;
        args.v = &v;
        args.out = &out;
        args.lse = &lse;
        args.options = &options;
        args.cu_seqlens_count = static_cast<std::int64_t>(given.cu_seqlens_q.size());
        args.cu_seqlens_q = given.cu_seqlens_q.empty() ? nullptr : given.cu_seqlens_q.data();
        args.cu_seqlens_k = given.cu_seqlens_k.empty() ? nullptr : given.cu_seqlens_k.data();
    }

    [[nodiscard]] Json verdict(const char* kernel = "cpu_flash") const {
        char* text = nullptr;
        EXPECT_EQ(rl_check_forward(&args, kernel, 7, &text), RL_OK) << rl_last_error();
        Json verdict = text == nullptr ? Json() : parse_json(text, "verdict");
        rl_free(text);
        return verdict;
    }
    void expect_refused(const char* why) const {
        const Json found = verdict();
        EXPECT_EQ(found.at("passed"), false);
        EXPECT_THAT(found.value("why", ""), HasSubstr(why));
    }
    /// Element of the output, counted in storage order.
    template <class T>
    T& element(std::size_t index) {
        return reinterpret_cast<T*>(call.out.data())[index];
    }

    WorkloadCall call;
    ForwardArgs given;
    rl_tensor q = c_view(given.q), k = c_view(given.k), v = c_view(given.v),
              out = c_view(given.out), lse = c_view(given.lse);
    rl_options options = RL_INIT(rl_options);
    rl_forward_args args = RL_INIT(rl_forward_args);
};

TEST(CCheck, AcceptsARightAnswerInEveryLayout) {
    for (const char* shape :
         {"b=2,h=4/2,q=33,k=70,d=64,dtype=fp32,causal", "b=1,h=2,q=20,k=50,d=40/24,dtype=bf16",
          "b=3,h=2,q=9;1;30,k=40;7;33,d=64,dtype=fp16,causal",
          "b=1,h=4/1,q=7,k=30,d=64,dtype=fp32,softcap=5,sinks"}) {
        for (const Layout layout : {Layout::packed, Layout::heads_first}) {
            if (layout == Layout::heads_first &&
                std::string(shape).find(';') != std::string::npos) {
                continue;  // ragged tensors are packed
            }
            const Answered answered(shape, layout);
            const Json found = answered.verdict();
            EXPECT_EQ(found.at("passed"), true) << shape << found;
            EXPECT_GT(found.at("cases").get<int>(), 8);
            EXPECT_LT(found.at("relative_rms").get<double>(), found.at("bound").get<double>());
            // The same judgement as of the library's own memory.
            const Correctness own =
                answered.call.verdict(find_kernel("cpu_flash").precision(answered.call.workload));
            EXPECT_EQ(found.at("relative_rms").get<double>(), own.relative_rms) << shape;
            EXPECT_EQ(found.at("worst").get<double>(), own.worst) << shape;
            EXPECT_EQ(found.at("lse_worst").get<double>(), own.lse_worst) << shape;
        }
    }
}

TEST(CCheck, RefusesAWrongUnwrittenOrShiftedAnswer) {
    Answered answered("b=2,h=4/2,q=33,k=70,d=64,dtype=fp32,causal");
    const float right = answered.element<float>(5);
    answered.element<float>(5) = right + 0.01F;
    answered.expect_refused("exceeds");
    answered.element<float>(5) = std::numeric_limits<float>::quiet_NaN();
    answered.expect_refused("never written");
    answered.element<float>(5) = right;
    EXPECT_EQ(answered.verdict().at("passed"), true);
    // The mask that was not applied, the scale that was another one.
    answered.options.causal = 0;
    answered.expect_refused("exceeds");
    answered.options.causal = 1;
    answered.options.scale = 0.11;
    answered.expect_refused("exceeds");
}

TEST(CCheck, JudgesTheLseOnlyWhereGiven) {
    Answered answered("b=1,h=2,q=20,k=50,d=64,dtype=fp32");
    reinterpret_cast<float*>(answered.call.lse.data())[3] += 0.1F;
    answered.expect_refused("LSE is off");
    answered.args.lse = nullptr;
    EXPECT_EQ(answered.verdict().at("passed"), true);
}

// The bound is the named kernel's: an fp32 answer rounded to bf16 has the error of bf16 storage.
TEST(CCheck, TakesTheBoundFromTheNamedKernel) {
    Answered answered("b=1,h=2,q=40,k=64,d=64,dtype=fp32");
    for (std::size_t i = 0; i < answered.call.inputs.out_elements; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &answered.element<float>(i), sizeof(bits));
        bits &= 0xffff0000U;
        std::memcpy(&answered.element<float>(i), &bits, sizeof(bits));
    }
    answered.expect_refused("relative RMS error");
    const Json strict = answered.verdict("cpu_flash");
    EXPECT_LT(strict.at("bound").get<double>(), 1e-5);
    EXPECT_GT(strict.at("relative_rms").get<double>(), 1e-4);
}

TEST(CCheck, RefusesBadArguments) {
    const Answered answered("b=1,h=2,q=4,k=5,d=64,dtype=fp32");
    char* text = nullptr;
    EXPECT_EQ(rl_check_forward(&answered.args, "cpu_flsh", 1, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("did you mean 'cpu_flash'?"));
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(rl_check_forward(&answered.args, nullptr, 1, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("kernel is a null pointer"));
    EXPECT_EQ(rl_check_forward(nullptr, "cpu_flash", 1, &text), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_check_forward(&answered.args, "cpu_flash", 1, nullptr), RL_INVALID_ARGUMENT);
    rl_forward_args empty = answered.args;
    rl_tensor none = answered.q, nothing = answered.out;
    none.shape[1] = nothing.shape[1] = 0;
    empty.q = &none;
    empty.out = &nothing;
    empty.lse = nullptr;
    EXPECT_EQ(rl_check_forward(&empty, "cpu_flash", 1, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("nothing to check"));
}

}  // namespace
}  // namespace raceline
