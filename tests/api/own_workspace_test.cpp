// SPDX-License-Identifier: Apache-2.0
// Calls that ask for their workspace are the calls that get one.
#include "api/own_workspace.hpp"

#include <cstring>
#include <optional>

#include "tests/api/refusal.hpp"

namespace raceline {
namespace {

using tests::WorkloadCall;
using tests::Workspace;

/// Gives a workspace and remembers how large it was.
class Giver {
public:
    [[nodiscard]] api::Allocate allocate() {
        return [this](std::size_t bytes) {
            asked = bytes;
            return workspace_.emplace(bytes).execution.workspace;
        };
    }
    std::size_t asked = 0;

private:
    std::optional<Workspace> workspace_;
};

bool same_bytes(const tests::GuardedBytes& a, const tests::GuardedBytes& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

TEST(OwnWorkspace, DecodeAsksForWhatItNeedsAndAnswersTheSame) {
    const char* const shape = "b=2,h=8/2,q=1,k=900;17,d=64,dtype=fp32,page=16";
    WorkloadCall with(shape), without(shape);
    tests::run(with.decode_args());
    Giver giver;
    api::decode(without.decode_args(), Place::cpu, nullptr, giver.allocate());
    EXPECT_EQ(giver.asked, decode_workspace(without.decode_args(), Place::cpu));
    EXPECT_TRUE(same_bytes(with.out, without.out));
}

TEST(OwnWorkspace, ForwardAsksForWhatItNeedsAndAnswersTheSame) {
    const char* const shape = "b=2,h=8/2,q=40,k=70,d=64,dtype=fp32,causal";
    WorkloadCall with(shape), without(shape);
    tests::run(with.forward_args());
    Giver giver;
    api::forward(without.forward_args(), Place::cpu, nullptr, giver.allocate());
    EXPECT_EQ(giver.asked, forward_workspace(without.forward_args(), Place::cpu));
    EXPECT_TRUE(same_bytes(with.out, without.out));
}

TEST(OwnWorkspace, NothingIsAskedForWithoutQueries) {
    DecodeArgs args;
    args.q = args.out = TensorView::contiguous(nullptr, DType::fp32, {0, 1, 2, 8});
    args.k_cache = args.v_cache = TensorView::contiguous(nullptr, DType::fp32, {0, 4, 2, 8});
    Giver giver;
    EXPECT_NO_THROW(api::decode(args, Place::cpu, nullptr, giver.allocate()));
    EXPECT_EQ(giver.asked, 0U);
}

template <class Call>
std::string said(const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

// q has no memory, and no engine has this name. Whoever asks for the size first is told of the
// name.
TEST(OwnWorkspace, OfTwoFaultsTheOneOfTheSizeIsTold) {
    WorkloadCall call("b=2,h=8/2,q=1,k=40,d=64,dtype=fp32");
    Giver giver;
    DecodeArgs step = call.decode_args();
    step.q.data = nullptr;
    EXPECT_THAT(said([&] { api::decode(step, Place::cpu, nullptr, giver.allocate()); }),
                testing::HasSubstr("q is a null pointer"));
    step.options.backend = "nobody";
    EXPECT_EQ(said([&] { api::decode(step, Place::cpu, nullptr, giver.allocate()); }),
              said([&] { decode_workspace(step, Place::cpu); }));
    ForwardArgs all = call.forward_args();
    all.q.data = nullptr;
    all.options.backend = "nobody";
    EXPECT_EQ(said([&] { api::forward(all, Place::cpu, nullptr, giver.allocate()); }),
              said([&] { forward_workspace(all, Place::cpu); }));
}

}  // namespace
}  // namespace raceline
