// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels' own source, run on the host and judged by the gate, over every tile. What only
// a GPU can show (the memory model, the approximate instructions' real error, speed) stays to it.
#include <gtest/gtest.h>
#include <string>

#include "registry/registry.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

void every_tile(const char* name, const std::string& shape, Draw draw = Draw::outliers) {
    const Kernel& kernel = find_kernel(name);
    const Workload w = parse_shape(shape);
    int ran = 0;
    // One unit: no splits. Many: as many as there are tiles of keys, some of them empty.
    for (int units : {1, 132}) {
        const Device device = test::small_hopper_gpu(units);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                const Correctness c = test::run_emulated(kernel, w, tile, device, draw);
                EXPECT_TRUE(c.passed) << name << ' ' << shape << ' ' << kernel.tile_text(tile)
                                      << " on " << units << " units: " << c.why;
                ++ran;
            }
        }
    }
    EXPECT_GT(ran, 0) << name << ' ' << shape;
}

class Simt : public testing::TestWithParam<const char*> {};
TEST_P(Simt, is_correct_in_every_tile) {
    every_tile("simt", GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    Emulated, Simt,
    testing::Values(
        "b=2,h=8/2,q=1,k=300,d=128,dtype=bf16", "b=2,h=8/2,q=1,k=300,d=128,dtype=bf16,page=16",
        "b=2,h=8/2,q=1,k=300,d=128,dtype=fp16,page=24",
        "b=3,h=4,q=1,k=100;517;7,d=64,dtype=bf16,page=64",
        "b=3,h=4/1,q=3;1;9,k=100;217;7,d=64,dtype=fp32,causal",
        "b=3,h=4/1,q=3;0;9,k=100;0;7,d=64,dtype=fp32,causal",
        "b=2,h=6/2,q=5,k=131,d=72,dtype=fp16,causal", "b=1,h=2,q=17,k=90,d=33/19,dtype=bf16",
        "b=1,h=2,q=17,k=90,d=33/19,dtype=fp32,window=10",
        "b=1,h=2/1,q=40,k=90,d=192/128,dtype=bf16,causal",
        "b=1,h=2/1,q=20,k=90,d=128/192,dtype=bf16,causal",
        "b=1,h=2/1,q=20,k=90,d=256,dtype=fp16,causal", "b=1,h=2/1,q=9,k=90,d=200/250,dtype=fp32",
        "b=2,h=4/2,q=30,k=90,d=64,dtype=fp32,softcap=5,causal",
        "b=2,h=4/2,q=30,k=90,d=64,dtype=bf16,sinks,window=12,causal,scale=0.3",
        "b=1,h=4/2,q=90,k=30,d=64,dtype=fp32,causal", "b=1,h=16/1,q=1,k=333,mla=512+64,dtype=bf16",
        "b=1,h=4/1,q=2,k=133,mla=40+8,dtype=fp32",
        "b=2,h=8/2,q=6,k=300,d=40,dtype=bf16,kv=e4m3,page=16,causal",
        "b=2,h=8/2,q=1,k=300,d=128,dtype=fp32,kv=e4m3", "b=1,h=5,q=1,k=1,d=1,dtype=fp32",
        "b=1,h=1,q=3,k=0,d=64,dtype=fp32", "b=1,h=7/1,q=1,k=2000,d=96,dtype=bf16",
        "b=2,h=4/2,q=3,k=200,d=64,dtype=bf16,softcap=30,sinks,window=50,page=16,causal",
        "b=1,h=2,q=20,k=10,d=64,causal,sinks", "b=3,h=4/1,q=3;0;9,k=100;0;0,d=64,causal,sinks"));

// What is not finite in Q, K or V must reach the outputs and the LSE that it belongs to.
TEST(Emulated, simt_keeps_what_is_not_finite) {
    for (const char* shape :
         {"b=2,h=8/2,q=1,k=300,d=64,dtype=bf16", "b=2,h=4/2,q=40,k=90,d=64,dtype=fp16,causal",
          "b=3,h=4,q=1,k=100;217;7,d=64,dtype=fp32,page=16",
          "b=1,h=4/1,q=2,k=133,mla=40+8,dtype=bf16",
          "b=1,h=2,q=20,k=60,d=64,dtype=bf16,sinks,window=12,causal"}) {
        every_tile("simt", shape, Draw::non_finite);
    }
}
TEST(Emulated, naive_keeps_what_is_not_finite) {
    every_tile("naive", "b=2,h=2,q=37,k=70,d=64,dtype=fp32,causal", Draw::non_finite);
    every_tile("naive", "b=2,h=2,q=37,k=70,d=64,dtype=fp16", Draw::non_finite);
}

class Naive : public testing::TestWithParam<const char*> {};
TEST_P(Naive, is_correct_in_every_tile) {
    every_tile("naive", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Emulated, Naive,
                         testing::Values("b=2,h=2,q=37,k=70,d=64,dtype=fp32",
                                         "b=1,h=2,q=70,k=37,d=128,dtype=fp16,causal",
                                         "b=1,h=2,q=37,k=300,d=64,dtype=fp16,causal",
                                         "b=1,h=1,q=3,k=0,d=64,dtype=fp32",
                                         "b=1,h=2,q=1,k=513,d=128,dtype=fp32"));

}  // namespace
}  // namespace raceline
