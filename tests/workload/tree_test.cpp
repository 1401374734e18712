// SPDX-License-Identifier: Apache-2.0
// Trees of new tokens: what is drawn, what is counted, and the float64 answer, pair by pair.
#include "workload/tree.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "support/check.hpp"
#include "workload/cache_reader.hpp"
#include "workload/oracle.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& shape) {
    try {
        parse_shape(shape);
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Tree, IsOneFieldOfTheGrammar) {
    const Workload w = parse_shape("b=3,h=4/2,q=5,k=90,d=64,dtype=bf16,page=16,tree=77");
    EXPECT_EQ(w.tree, 77);
    EXPECT_EQ(format_shape(w), "b=3,h=4/2,q=5,k=90,d=64,dtype=bf16,page=16,tree=77");
    EXPECT_EQ(workload_from_json(Json::parse(workload_to_json(w).dump())), w);
    EXPECT_EQ(format_shape(parse_shape("h=1,q=5,k=9,d=64,tree=0")), "h=1,q=5,k=9,d=64,dtype=bf16");
    EXPECT_FALSE(workload_to_json(parse_shape("h=1,k=9,d=64")).contains("tree"));
    EXPECT_EQ(refusal("h=1,q=32,k=90,d=64,tree=1"), "accepted");
    EXPECT_THAT(refusal("h=1,q=33,k=90,d=64,tree=1"), HasSubstr("seqlen_q is 33 with a tree"));
    EXPECT_THAT(refusal("h=1,q=3,k=90,d=64,tree=1,causal"), HasSubstr("causal with a tree"));
    EXPECT_THAT(refusal("h=1,q=3,k=90,d=64,tree=1,window=5"), HasSubstr("window with a tree"));
    EXPECT_THAT(refusal("h=1,q=3,k=90,d=64,tree"), HasSubstr("'tree' needs a value"));
}

// A token sees itself and what one token before it sees, or nothing else: so it is a branch.
TEST(Tree, DrawnWordsAreBranches) {
    std::set<std::vector<std::uint32_t>> kinds;
    for (int seed = 1; seed <= 200; ++seed) {
        const Workload w =
            parse_shape("h=1,q=32;1;0;7,k=40;3;5;9,d=8,dtype=fp32,tree=" + std::to_string(seed));
        for (std::int64_t b = 0; b < w.batch; ++b) {
            const std::vector<std::uint32_t> words = drawn_tree(w, b);
            ASSERT_EQ(std::ssize(words), w.length_q(b));
            for (std::size_t i = 0; i < words.size(); ++i) {
                const std::uint32_t own = std::uint32_t{1} << i;
                std::set<std::uint32_t> branches{0};
                branches.insert(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
                EXPECT_TRUE((words[i] & own) != 0 && branches.contains(words[i] & ~own))
                    << "seed " << seed << " token " << i;
            }
        }
        kinds.insert(drawn_tree(w, 3));
    }
    EXPECT_GT(kinds.size(), 150U);  // of 7! trees
}

/// The definition: key j of row i, of which the last length_q ones are the new tokens'.
bool sees(const Workload& w, std::int64_t b, std::uint32_t word, std::int64_t j) {
    const std::int64_t token = j - (w.length_k(b) - w.length_q(b));
    return token < 0 || (word >> token & 1U) != 0;
}

TEST(Tree, PairsAndBytesAreCountedExactly) {
    for (const char* lengths : {"b=3,q=7,k=12", "q=12,k=7", "b=2,q=1,k=9", "q=9,k=0", "q=0,k=9",
                                "q=3;8;0;32,k=5;2;4;100", "q=6,k=6;1"}) {
        const Workload w = parse_shape(std::string("h=6/2,d=16/8,dtype=fp32,tree=5,") + lengths);
        const Inputs in = make_inputs(w, {});
        double pairs = 0;
        double keys = 0;
        std::size_t token = 0;
        for (std::int64_t b = 0; b < w.batch; ++b) {
            const std::vector<std::uint32_t> words = drawn_tree(w, b);
            std::set<std::int64_t> seen;
            for (std::int64_t i = 0; i < w.length_q(b); ++i, ++token) {
                const SeenKeys its = seen_keys_of(w, in, b, i);
                std::int64_t of_row = 0;
                for (std::int64_t j = 0; j < w.length_k(b); ++j) {
                    EXPECT_EQ(its.sees(j), sees(w, b, words[i], j))
                        << lengths << ' ' << b << i << j;
                    EXPECT_EQ(its.sees(j), sees(w, b, in.tree[token], j));
                    of_row += its.sees(j) ? 1 : 0;
                    if (its.sees(j)) {
                        seen.insert(j);
                    }
                }
                EXPECT_EQ(its.count(), of_row);
                EXPECT_FALSE(its.sees(-1) || its.sees(w.length_k(b)));
                pairs += static_cast<double>(of_row);
            }
            keys += static_cast<double>(seen.size());
        }
        EXPECT_EQ(token, in.tree.size());
        EXPECT_EQ(w.visited_pairs(), pairs) << lengths;
        EXPECT_EQ(w.flops(), 2 * 24 * 6 * pairs);
        EXPECT_EQ(w.bytes_kv(), keys * 2 * 24 * 4) << lengths;
    }
}

// Bits that stand for no token hold garbage, and are looked at by nobody.
TEST(Tree, InputsHaveGarbageBehindTheTokens) {
    const Workload w = parse_shape("b=4,h=1,q=5,k=20,d=8,dtype=fp32,tree=3");
    std::uint32_t garbage = 0;
    for (const std::uint32_t word : make_inputs(w, {}).tree) {
        garbage |= word >> 5;
    }
    EXPECT_NE(garbage, 0U);
    for (const std::uint32_t word : make_inputs(w, {.poison = false}).tree) {
        EXPECT_EQ(word >> 5, 0U);
    }
    EXPECT_TRUE(make_inputs(parse_shape("h=1,q=5,k=20,d=8"), {}).tree.empty());
}

/// Softmax over the keys that a predicate leaves, in the plainest way.
template <class Sees>
OracleRow by_definition(const Workload& w, const Inputs& in, std::int64_t row, std::int64_t head,
                        const Sees& sees_key) {
    const CacheReader cache(w, in, 0, head / w.group());
    const std::vector<double> q = cache.query(row, head);
    std::vector<float> k;
    std::vector<float> v;
    OracleRow answer{std::vector<double>(w.headdim_v, 0.0), 0};
    double sum = w.sinks ? std::exp(static_cast<double>(in.sinks[head])) : 0;
    for (std::int64_t j = 0; j < w.length_k(0); ++j) {
        if (!sees_key(j)) {
            continue;
        }
        cache.keys(j, 1, k);
        cache.values(j, 1, v);
        double logit = 0;
        for (std::size_t c = 0; c < q.size(); ++c) {
            logit += q[c] * static_cast<double>(k[c]);
        }
        const double weight = std::exp(logit * w.scale_value());
        sum += weight;
        for (std::size_t c = 0; c < answer.out.size(); ++c) {
            answer.out[c] += weight * static_cast<double>(v[c]);
        }
    }
    for (double& x : answer.out) {
        x = sum == 0 ? 0 : x / sum;
    }
    answer.lse = std::log(sum);
    return answer;
}

TEST(Tree, TheOracleFollowsAnyWords) {
    for (const char* shape :
         {"h=4/2,q=6,k=21,d=16/8,dtype=fp32,tree=1", "h=4/2,q=6,k=6,d=16,dtype=fp32,tree=1,sinks",
          "h=2,q=6,k=6,d=16,dtype=fp32,tree=1", "h=2,q=9,k=4,d=16,dtype=fp32,tree=1",
          "h=2,q=32,k=300,d=16,dtype=fp32,tree=2"}) {
        const Workload w = parse_shape(shape);
        Inputs in = make_inputs(w, {.draw = Draw::plain});
        in.tree[1] = 0xFFFFFFFFU << w.seqlen_q;  // no bit of a token
        in.tree[3] = 0xA5A5A5A5U;                // no tree at all
        in.tree[5] |= 0xFFFFFFFFU;               // all of them
        int empty = 0;
        for (std::int64_t row = 0; row < w.seqlen_q; ++row) {
            for (std::int64_t head = 0; head < w.heads_q; ++head) {
                const OracleRow got = oracle_row(w, in, 0, row, head);
                const OracleRow expected = by_definition(
                    w, in, row, head, [&](std::int64_t j) { return sees(w, 0, in.tree[row], j); });
                for (std::size_t c = 0; c < got.out.size(); ++c) {
                    EXPECT_NEAR(got.out[c], expected.out[c], 1e-12) << shape << ' ' << row;
                }
                const double infinite = std::numeric_limits<double>::infinity();
                EXPECT_TRUE(expected.lse == -infinite ? got.lse == -infinite
                                                      : std::abs(got.lse - expected.lse) < 1e-12)
                    << shape << ' ' << row << ' ' << got.lse << ' ' << expected.lse;
                EXPECT_TRUE(got.judged);
                empty += expected.lse == -infinite ? 1 : 0;
            }
        }
        EXPECT_EQ(empty > 0, w.seqlen_k <= w.seqlen_q && !w.sinks) << shape;
    }
}

// What stands behind a key that a row does not see must not reach its answer, nor a rounded one's.
TEST(Tree, AHiddenKeyIsNoTerm) {
    const Workload w = parse_shape("h=1,q=4,k=10,d=8,dtype=fp32,tree=1");
    Inputs in = make_inputs(w, {.draw = Draw::plain});
    in.tree = {0b0001, 0b0011, 0b0101, 0b1011};  // keys 6 … 9
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    store_element(in.k.data(), DType::fp32, 7 * 8 + 3, nan);
    store_element(in.v.data(), DType::fp32, 7 * 8 + 3, nan);
    const Precision narrow{Rounding::bf16, Rounding::fp32, Rounding::bf16, Rounding::fp32,
                           Rounding::fp32};
    for (std::int64_t row = 0; row < 4; ++row) {
        const bool hit = (in.tree[row] & 0b0010U) != 0;
        EXPECT_EQ(std::isfinite(oracle_row(w, in, 0, row, 0).out[3]), !hit) << row;
        EXPECT_EQ(std::isfinite(oracle_row(w, in, 0, row, 0).lse), !hit) << row;
        EXPECT_EQ(std::isfinite(rounded_row(w, in, 0, row, 0, narrow).out[3]), !hit) << row;
    }
}

}  // namespace
}  // namespace raceline
