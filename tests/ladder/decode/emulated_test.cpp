// SPDX-License-Identifier: Apache-2.0
// The decode rungs' own device source, run on the host and judged by the gate. What only a GPU can
// show (the memory model, the approximate instructions' real error, speed) stays to it.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Case {
    std::string rung;
    std::string shape;
};

class DecodeRung : public testing::TestWithParam<Case> {};

// One unit: few splits. 132: as many as there are keys for. Unsplit where the rung has that tile.
TEST_P(DecodeRung, is_correct) {
    const Kernel& kernel = find_kernel(GetParam().rung);
    const Workload w = parse_shape(GetParam().shape);
    for (const int units : {1, 132}) {
        const Device device = test::small_hopper_gpu(units);
        for (const int tile : {0, kernel.tile_count() - 1}) {
            ASSERT_EQ(kernel.why_not(w, tile, device), "");
            const Correctness c = test::run_emulated(kernel, w, tile, device);
            EXPECT_TRUE(c.passed) << kernel.name << ' ' << GetParam().shape << ' '
                                  << kernel.tile_text(tile) << " on " << units
                                  << " units: " << c.why;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(splitkv, DecodeRung,
                         testing::Values(Case{"splitkv", "b=2,h=4/2,q=1,k=389,d=128,dtype=fp16"},
                                         Case{"splitkv",
                                              "b=1,h=2,q=1,k=205,d=64,dtype=fp16,causal"},
                                         Case{"splitkv", "b=1,h=2/1,q=1,k=101,d=128,dtype=fp32"},
                                         Case{"splitkv", "b=2,h=1,q=1,k=197,d=64,dtype=fp32"},
                                         Case{"splitkv", "b=1,h=1,q=1,k=0,d=64,dtype=fp16"},
                                         Case{"splitkv", "b=1,h=3,q=1,k=1,d=64,dtype=fp32"}));

INSTANTIATE_TEST_SUITE_P(
    paged, DecodeRung,
    testing::Values(Case{"paged", "b=1,h=4/2,q=1,k=389,d=128,dtype=fp16,page=64"},
                    Case{"paged", "b=3,h=2/1,q=1,k=100;317;7,d=64,dtype=fp16,page=16"},
                    Case{"paged", "b=2,h=2,q=1,k=57;0,d=64,dtype=fp32,page=1"},
                    Case{"paged", "b=2,h=2/1,q=1,k=101,d=128,dtype=fp32,page=8"},
                    Case{"paged", "b=2,h=2/1,q=1,k=77,d=128,dtype=fp16,causal"}));

using Cases = std::vector<Case>;

Cases cases_of(const std::string& rung, const std::vector<std::string>& shapes,
               const std::string& more = "") {
    Cases cases;
    for (const std::string& shape : shapes) {
        cases.push_back({rung, shape + more});
    }
    return cases;
}

// Groups of every packing: 1, 2, 4 and 8 rows a warp, and groups over one, two and four warps, some
// of them not full.
Cases grouped(const std::string& rung, const std::string& cache = "") {
    return cases_of(
        rung,
        {"b=1,h=2/2,q=1,k=389,d=128,dtype=fp16,page=64",
         "b=3,h=4/2,q=1,k=100;317;7,d=64,dtype=fp16,page=16", "b=1,h=3/1,q=1,k=109,d=64,dtype=fp16",
         "b=1,h=7/1,q=1,k=205,d=128,dtype=fp16,page=32,causal",
         "b=1,h=16/1,q=1,k=43,d=64,dtype=fp16", "b=1,h=29/1,q=1,k=21,d=128,dtype=fp16,page=16",
         "b=2,h=8/2,q=1,k=0,d=64,dtype=fp16"},
        cache);
}

// The same, and fp32 where a rung takes it.
Cases grouped_and_fp32(const std::string& rung) {
    Cases all = grouped(rung);
    for (const char* shape :
         {"b=1,h=8/2,q=1,k=107,d=128,dtype=fp32", "b=1,h=8/2,q=1,k=157,d=128,dtype=fp32",
          "b=1,h=5/1,q=1,k=207,d=64,dtype=fp32"}) {
        all.push_back({rung, shape});
    }
    return all;
}

// A latent of 512 + 64 columns; heads that fill warps and CTAs, and heads that do not.
Cases latent(const std::string& rung) {
    return cases_of(rung, {"b=1,h=128,q=1,k=66,mla=512+64,dtype=fp16",
                           "b=3,h=16,q=1,k=66;7;30,mla=512+64,dtype=fp16,page=16",
                           "b=1,h=1,q=1,k=109,mla=512+64,dtype=fp16",
                           "b=2,h=33,q=1,k=67,mla=512+64,dtype=fp16,page=64,causal",
                           "b=1,h=70,q=1,k=65,mla=512+64,dtype=fp16",
                           "b=2,h=5,q=1,k=0;150,mla=512+64,dtype=fp16,page=1",
                           "b=2,h=3,q=1,k=0,mla=512+64,dtype=fp16"});
}

INSTANTIATE_TEST_SUITE_P(gqa, DecodeRung, testing::ValuesIn(grouped_and_fp32("gqa")));
INSTANTIATE_TEST_SUITE_P(gqa_wmma, DecodeRung, testing::ValuesIn(grouped("gqa_wmma")));
INSTANTIATE_TEST_SUITE_P(gqa_doublebuffer, DecodeRung,
                         testing::ValuesIn(grouped_and_fp32("gqa_doublebuffer")));
INSTANTIATE_TEST_SUITE_P(gqa_occupancy, DecodeRung,
                         testing::ValuesIn(grouped_and_fp32("gqa_occupancy")));
INSTANTIATE_TEST_SUITE_P(gqa_ilp, DecodeRung, testing::ValuesIn(grouped_and_fp32("gqa_ilp")));
INSTANTIATE_TEST_SUITE_P(gqa_scorestationary, DecodeRung,
                         testing::ValuesIn(grouped("gqa_scorestationary")));
INSTANTIATE_TEST_SUITE_P(fp8_kv, DecodeRung, testing::ValuesIn(grouped("fp8_kv", ",kv=e4m3")));
INSTANTIATE_TEST_SUITE_P(mla, DecodeRung, testing::ValuesIn(latent("mla")));
INSTANTIATE_TEST_SUITE_P(nvfp4_kv, DecodeRung, testing::ValuesIn(grouped("nvfp4_kv", ",kv=nvfp4")));
INSTANTIATE_TEST_SUITE_P(
    nvfp4_kv_odd, DecodeRung,
    testing::Values(Case{"nvfp4_kv", "b=3,h=4/1,q=1,k=7,d=64,dtype=fp16,kv=nvfp4"},
                    Case{"nvfp4_kv", "b=2,h=2/1,q=1,k=5;9,d=64,dtype=fp16,kv=nvfp4,page=1"}));

}  // namespace
}  // namespace raceline
