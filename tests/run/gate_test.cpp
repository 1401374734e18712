// SPDX-License-Identifier: Apache-2.0
// The gate is tested by mutation: it must accept a plain implementation and refuse the same one
// with any classic mistake in it.
#include "run/gate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "mutant.hpp"
#include "receipt/rows.hpp"
#include "support/check.hpp"
#include "workload/oracle.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using mutation::Mistake;
using mutation::Result;

Result run_kernel(const Workload& w, const Inputs& in, Mistake mistake) {
    Result result;
    result.out.assign(in.out_elements * static_cast<std::size_t>(bytes_of(w.dtype)),
                      std::byte{output_poison});
    result.lse.resize(in.lse_elements);
    std::memset(result.lse.data(), output_poison, result.lse.size() * sizeof(float));
    InputPointers at = pointers_into(in);
    at.out = result.out.data();
    at.lse = result.lse.data();
    mutation::Kernel(w, in, make_args(w, in, at), mistake).run();
    return result;
}

Correctness verdict_on(const std::string& shape, Mistake mistake, std::uint64_t seed) {
    const Workload w = parse_shape(shape);
    const Inputs in = make_inputs(w, {.seed = seed});
    const Result result = run_kernel(w, in, mistake);
    return judge(w, in, mutation::precision_of(w), result.out, result.lse, seed);
}

std::string figures(const std::string& shape, Mistake mistake, const Correctness& c) {
    return fmt::format("{} mistake {}: relative RMS {:.3g} of {:.3g}, worst {:.3g} of {:.3g}",
                       shape, static_cast<int>(mistake), c.relative_rms, c.bound, c.worst,
                       c.bound_worst);
}

struct Case {
    std::string shape;
    std::vector<Mistake> mistakes;
};

const std::vector<Mistake> always{Mistake::dropped_block,     Mistake::lost_split,
                                  Mistake::wrong_scale,       Mistake::stale_maximum,
                                  Mistake::unread_tail,       Mistake::unwritten_row,
                                  Mistake::narrow_accumulator};

std::vector<Mistake> with(std::vector<Mistake> more) {
    more.insert(more.begin(), always.begin(), always.end());
    return more;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
        for (const std::string d : {"64", "128"}) {
            const std::string rest = ",d=" + d + ",dtype=" + dtype;
            list.push_back({"h=4,q=150,k=500" + rest, always});
            list.push_back({"h=4/2,k=300" + rest + ",causal",
                            with({Mistake::shifted_mask, Mistake::wrong_kv_head})});
            list.push_back({"h=8,q=1,k=8192" + rest, always});
            list.push_back({"b=2,h=8/2,q=1,k=2000,page=16" + rest, with({Mistake::wrong_kv_head})});
        }
    }
    list.push_back({"h=8/2,q=64,k=8192,d=64,dtype=fp32,causal",
                    with({Mistake::shifted_mask, Mistake::wrong_kv_head})});
    list.push_back({"h=4/2,q=100;37;1,k=333;512;700,d=64,dtype=bf16,causal,page=64",
                    with({Mistake::wrong_kv_head, Mistake::shifted_mask})});
    list.push_back({"h=16/2,q=1,k=4096,d=64,dtype=bf16,causal,window=255,sinks",
                    {Mistake::no_sink, Mistake::unread_tail, Mistake::lost_split,
                     Mistake::wrong_kv_head, Mistake::wrong_scale}});
    list.push_back({"h=4,k=256,d=64,dtype=bf16,causal,softcap=30",
                    {Mistake::no_softcap, Mistake::shifted_mask}});
    list.push_back({"h=4,k=256,d=64,dtype=fp32,softcap=50,sinks",
                    {Mistake::no_softcap, Mistake::no_sink, Mistake::dropped_block}});
    list.push_back({"h=8/2,q=1,k=1000,d=128,dtype=bf16,kv=e4m3,page=64", {Mistake::dropped_block}});
    for (const char* layout : {"k=1000,page=16", "k=333", "k=500;70;1"}) {
        list.push_back({std::string("h=8/2,q=1,d=64,dtype=bf16,kv=e4m3,scales=token,") + layout,
                        {Mistake::older_key_scale, Mistake::older_value_scale}});
    }
    for (const char* lengths : {"q=16,k=2000", "q=5;32,k=5;300,page=16", "b=2,q=3,k=70"}) {
        list.push_back({std::string("h=8/2,d=64,dtype=bf16,tree=6,") + lengths,
                        {Mistake::flipped_tree_bit, Mistake::no_tree, Mistake::wrong_scale}});
    }
    list.push_back({"h=16,q=1,k=700,mla=64+16,dtype=bf16",
                    {Mistake::dropped_block, Mistake::unread_tail, Mistake::wrong_scale}});
    return list;
}

class Gate : public testing::TestWithParam<Case> {};

TEST_P(Gate, AcceptsWhatIsRight) {
    for (const auto& [seed, style] :
         {std::pair{1, Mistake::none}, {2, Mistake::none}, {3, Mistake::folded_exponential}}) {
        const Correctness verdict = verdict_on(GetParam().shape, style, seed);
        EXPECT_TRUE(verdict.passed) << figures(GetParam().shape, style, verdict) << verdict.why;
        EXPECT_GT(verdict.cases, 0);
        EXPECT_GT(verdict.relative_rms, 0);
        EXPECT_LT(verdict.bound, 0.01);
    }
}

// The output alone must give every mistake away too: not every caller asks for the LSE. Answers are
// shared: working them out takes far longer than a mutant and its verdict.
TEST_P(Gate, RefusesEveryMistake) {
    const Workload w = parse_shape(GetParam().shape);
    const Inputs in = make_inputs(w, {.seed = 1});
    const Precision precision = mutation::precision_of(w);
    GateAnswers answers(w, in, 1);
    for (const Mistake mistake : GetParam().mistakes) {
        const Result result = run_kernel(w, in, mistake);
        for (const Correctness& verdict : {judge(answers, precision, result.out, result.lse),
                                           judge(answers, precision, result.out, {})}) {
            EXPECT_FALSE(verdict.passed) << figures(GetParam().shape, mistake, verdict);
            EXPECT_FALSE(verdict.why.empty());
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Gate, testing::ValuesIn(cases()),
                         [](const auto& which) { return std::to_string(which.index); });

TEST(GateVerdict, NamesTheRowThatWasNotWritten) {
    const auto verdict = verdict_on("b=2,h=4,k=40,d=64,dtype=bf16", Mistake::unwritten_row, 1);
    EXPECT_EQ(verdict.why,
              "element 0 of row 20 of head 2 in sequence 1 was never written, or is NaN");
    const Json row = row_to_json(verdict);
    EXPECT_FALSE(row["passed"].get<bool>());
    EXPECT_TRUE(row["relative_rms"].is_null());
}

// fp32 knows an LSE to some parts in ten million of max(1, |LSE|); one that is off by a hundred
// times that much is wrong, and so is one that was never written.
TEST(GateVerdict, AnLseIsHeldToWhatItsTypeKnows) {
    const Workload w = parse_shape("h=2,q=12,k=300,d=16,dtype=fp32");
    const Inputs in = make_inputs(w, {.draw = Draw::plain});
    const Result right = run_kernel(w, in, Mistake::none);
    const Precision precision = mutation::precision_of(w);
    ASSERT_TRUE(judge(w, in, precision, right.out, right.lse, 1).passed);
    for (const double off : {1e-4, -1e-4}) {
        Result wrong = right;
        wrong.lse[5] += static_cast<float>(off * std::max(1.0F, std::abs(wrong.lse[5])));
        const Correctness verdict = judge(w, in, precision, wrong.out, wrong.lse, 1);
        EXPECT_FALSE(verdict.passed) << off;
        EXPECT_NE(verdict.why.find("LSE"), std::string::npos) << verdict.why;
    }
    Result unwritten = right;
    std::memset(&unwritten.lse[7], output_poison, sizeof(float));
    EXPECT_FALSE(judge(w, in, precision, unwritten.out, unwritten.lse, 1).passed);
}

TEST(GateVerdict, MaskedRowsAreExactlyZero) {
    const Workload w = parse_shape("h=2,q=20,k=8,d=16,dtype=fp32,causal");
    const Inputs in = make_inputs(w, {});
    Result result = run_kernel(w, in, Mistake::none);
    const Precision precision = mutation::precision_of(w);
    EXPECT_TRUE(judge(w, in, precision, result.out, result.lse, 1).passed);
    store_element(result.out.data(), w.dtype, 3, 1e-30);
    EXPECT_FALSE(judge(w, in, precision, result.out, result.lse, 1).passed);
    store_element(result.out.data(), w.dtype, 3, 0);
    result.lse[0] = -1e30F;
    EXPECT_FALSE(judge(w, in, precision, result.out, result.lse, 1).passed);
}

TEST(GateVerdict, RefusesBuffersOfTheWrongSize) {
    const Workload w = parse_shape("h=2,k=8,d=16,dtype=fp32");
    const Inputs in = make_inputs(w, {});
    const std::vector<std::byte> out(12);
    EXPECT_THROW(judge(w, in, mutation::precision_of(w), out, {}, 1), Error);
}

TEST(GateVerdict, HasNoAbsoluteTolerance) {
    // The same relative mistake on values a thousand times smaller is refused just the same.
    const Workload w = parse_shape("h=4,q=1,k=4096,d=64,dtype=fp32");
    Inputs in = make_inputs(w, {});
    for (std::size_t i = 0; i < in.v.size() / 4; ++i) {
        store_element(in.v.data(), DType::fp32, i,
                      1e-3 * load_element(in.v.data(), DType::fp32, i));
    }
    const Precision precision = mutation::precision_of(w);
    const Result right = run_kernel(w, in, Mistake::none);
    EXPECT_TRUE(judge(w, in, precision, right.out, {}, 1).passed);
    const Result wrong = run_kernel(w, in, Mistake::dropped_block);
    EXPECT_FALSE(judge(w, in, precision, wrong.out, {}, 1).passed);
}

TEST(GateRows, HoldsTheEdgesAndNoRowTwice) {
    const Workload w = parse_shape("b=2,h=4,q=1000,k=1000,d=64");
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
    std::set<std::int64_t> rows;
    for (const Row& at : sample_rows(w, 7, 512)) {
        EXPECT_TRUE(seen.insert({at.sequence, at.row, at.head}).second);
        EXPECT_TRUE(at.row >= 0 && at.row < 1000 && at.sequence < 2 && at.head < 4);
        rows.insert(at.row);
    }
    EXPECT_LE(seen.size(), 512U);
    EXPECT_GT(seen.size(), 400U);
    for (const std::int64_t edge : {0, 15, 16, 63, 64, 127, 128, 255, 256, 767, 768, 999}) {
        EXPECT_TRUE(rows.contains(edge)) << edge;
    }
}

TEST(GateRows, FirstAndLastStayWhenFewAreAffordable) {
    const Workload w = parse_shape("h=1,q=4096,k=1048576,d=128");
    std::set<std::int64_t> rows;
    for (const Row& at : sample_rows(w, 3, 512)) {
        rows.insert(at.row);
    }
    EXPECT_LE(rows.size(), 8U);
    EXPECT_TRUE(rows.contains(0) && rows.contains(4095));
}

// A mistake in one head, one sequence or one tile must not hide between the rows of a sample.
TEST(GateRows, ReachEveryHeadSequenceAndTile) {
    const Workload w = parse_shape("b=3,h=40/8,q=9000;0;70,k=9000;5;70,d=64,causal");
    std::set<std::int64_t> heads;
    std::set<std::pair<std::int64_t, std::int64_t>> tiles;
    for (const Row& at : rows_to_check(w, 11, 8)) {
        heads.insert(at.head);
        tiles.insert({at.sequence, at.row / 64});
    }
    EXPECT_EQ(heads.size(), 40U);
    EXPECT_EQ(tiles.size(), 141U + 2U);
}

TEST(GateRows, SmallWorkloadsAreCheckedWhole) {
    EXPECT_EQ(rows_to_check(parse_shape("h=4,q=3;0;5,k=9;2;7,d=64"), 1).size(), 32U);
}

// Kernels judged on one draw share its answers; whom they were worked out for first must not
// matter.
TEST(GateAnswers, give_the_verdicts_of_fresh_ones) {
    const Workload w = parse_shape("b=2,h=4/2,q=33,k=70,d=64,dtype=bf16,causal");
    const Inputs in = make_inputs(w, {.seed = 5});
    const Result right = run_kernel(w, in, Mistake::none);
    const Precision own = mutation::precision_of(w);
    Precision narrow = own;
    narrow.probabilities = Rounding::e4m3;
    GateAnswers shared(w, in, 5);
    for (const Precision& precision : {narrow, own, narrow, own}) {
        const Correctness kept = judge(shared, precision, right.out, right.lse);
        const Correctness fresh = judge(w, in, precision, right.out, right.lse, 5);
        EXPECT_EQ(row_to_json(kept), row_to_json(fresh));
    }
    EXPECT_NE(judge(shared, narrow, right.out, right.lse).bound,
              judge(shared, own, right.out, right.lse).bound);
    EXPECT_EQ(shared.exact().size(), shared.rows().size());
}

}  // namespace
}  // namespace raceline
