// SPDX-License-Identifier: Apache-2.0
// Problems that are the same are said in the same way, and no others.
#include "workload/plainest.hpp"

#include <gtest/gtest.h>
#include <string>

#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

void expect_same(const std::string& said, const std::string& plain) {
    EXPECT_EQ(plainest(parse_shape(said)), parse_shape(plain)) << said;
}

void expect_kept(const std::string& said) {
    EXPECT_EQ(plainest(parse_shape(said)), parse_shape(said)) << said;
}

TEST(Plainest, drops_a_window_that_hides_nothing) {
    const std::string plain = "h=8,q=64,k=512,d=64,dtype=bf16";
    expect_same(plain + ",window=511:inf", plain);
    expect_same(plain + ",window=4096:63", plain);
    expect_same(plain + ",window=inf:100", plain);
    expect_same(plain + ",causal,window=511", plain + ",causal");
    expect_kept(plain + ",window=510:inf");
    expect_kept(plain + ",window=inf:62");
    expect_same(plain + ",window=511:62", plain + ",window=inf:62");
}

TEST(Plainest, asks_each_sequence_what_its_window_hides) {
    const std::string ragged = "h=8,q=1;1,k=100;400,d=64,dtype=bf16";
    const Workload plain = plainest(parse_shape(ragged));
    EXPECT_EQ(plainest(parse_shape(ragged + ",window=399:inf")), plain);
    EXPECT_NE(plainest(parse_shape(ragged + ",window=398:inf")), plain);
}

TEST(Plainest, drops_a_mask_that_hides_nothing) {
    expect_same("h=8,q=1,k=512,d=64,dtype=bf16,causal", "h=8,q=1,k=512,d=64,dtype=bf16");
    expect_kept("h=8,q=2,k=512,d=64,dtype=bf16,causal");
}

TEST(Plainest, calls_a_window_causal_if_it_is) {
    const std::string shape = "h=8,q=64,k=512,d=64,dtype=bf16";
    expect_same(shape + ",window=inf:0", shape + ",causal");
    EXPECT_EQ(plainest(parse_shape(shape + ",window=100:0")),
              plainest(parse_shape(shape + ",window=100,causal")));
}

TEST(Plainest, drops_lengths_that_are_all_the_longest) {
    expect_same("h=8,q=64;64,k=512;512,d=64,dtype=bf16", "b=2,h=8,q=64,k=512,d=64,dtype=bf16");
    expect_same("h=8,q=64;64,k=512;511,d=64,dtype=bf16", "b=2,h=8,q=64,k=512;511,d=64,dtype=bf16");
    expect_kept("h=8,q=64;63,k=512;511,d=64,dtype=bf16");
}

TEST(Plainest, drops_the_default_scale_however_it_is_rounded) {
    const std::string shape = "h=8,q=64,k=512,d=128,dtype=bf16";
    expect_same(shape + ",scale=0.08838834764831845", shape);
    expect_same(shape + ",scale=0.08838834", shape);
    expect_kept(shape + ",scale=0.0884");
    expect_kept(shape + ",scale=1");
}

TEST(Plainest, drops_an_accuracy_where_queries_have_more_than_8_bits) {
    expect_same("h=8,q=64,k=512,d=64,dtype=bf16,accuracy=fast", "h=8,q=64,k=512,d=64,dtype=bf16");
    expect_same("h=8,q=64,k=512,d=64,dtype=bf16,kv=e4m3,accuracy=fast",
                "h=8,q=64,k=512,d=64,dtype=bf16,kv=e4m3");
    expect_kept("h=8,q=64,k=512,d=64,dtype=e4m3,accuracy=fast");
}

TEST(Plainest, keeps_every_other_word) {
    for (const char* shape :
         {"b=2,h=8/2,q=64,k=512,d=64/32,dtype=fp16,softcap=30,sinks,page=16",
          "h=16,q=1,k=512,mla=512+64,dtype=bf16", "h=8,q=0,k=512,d=64,dtype=fp32",
          "h=8,q=512,k=64,d=64,dtype=fp32,causal"}) {
        expect_kept(shape);
    }
}

}  // namespace
}  // namespace raceline
