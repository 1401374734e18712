// SPDX-License-Identifier: Apache-2.0
// The decode rungs' own device source, run on the host and judged by the gate. What only a GPU can
// show (the memory model, the approximate instructions' real error, speed) stays to it.
#include <gtest/gtest.h>
#include <string>

#include "registry/registry.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Case {
    const char* rung;
    const char* shape;
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

// Groups of every packing: 1, 2, 4 and 8 rows a warp, and groups over one, two and four warps, some
// of them not full.
#define RACELINE_GROUPED_CASES_OF(rung, kv)                                   \
    Case{rung, "b=1,h=2/2,q=1,k=389,d=128,dtype=fp16,page=64" kv},            \
        Case{rung, "b=3,h=4/2,q=1,k=100;317;7,d=64,dtype=fp16,page=16" kv},   \
        Case{rung, "b=1,h=3/1,q=1,k=109,d=64,dtype=fp16" kv},                 \
        Case{rung, "b=1,h=7/1,q=1,k=205,d=128,dtype=fp16,page=32,causal" kv}, \
        Case{rung, "b=1,h=16/1,q=1,k=43,d=64,dtype=fp16" kv},                 \
        Case{rung, "b=1,h=29/1,q=1,k=21,d=128,dtype=fp16,page=16" kv}, Case { \
        rung, "b=2,h=8/2,q=1,k=0,d=64,dtype=fp16" kv                          \
    }
#define RACELINE_GROUPED_CASES(rung) RACELINE_GROUPED_CASES_OF(rung, "")

// A latent of 512 + 64 columns; heads that fill warps and CTAs, and heads that do not.
#define RACELINE_MLA_CASES(rung)                                              \
    Case{rung, "b=1,h=128,q=1,k=66,mla=512+64,dtype=fp16"},                   \
        Case{rung, "b=3,h=16,q=1,k=66;7;30,mla=512+64,dtype=fp16,page=16"},   \
        Case{rung, "b=1,h=1,q=1,k=109,mla=512+64,dtype=fp16"},                \
        Case{rung, "b=2,h=33,q=1,k=67,mla=512+64,dtype=fp16,page=64,causal"}, \
        Case{rung, "b=1,h=70,q=1,k=65,mla=512+64,dtype=fp16"},                \
        Case{rung, "b=2,h=5,q=1,k=0;150,mla=512+64,dtype=fp16,page=1"},       \
        Case{rung, "b=2,h=3,q=1,k=0,mla=512+64,dtype=fp16"}

INSTANTIATE_TEST_SUITE_P(gqa, DecodeRung,
                         testing::Values(RACELINE_GROUPED_CASES("gqa"),
                                         Case{"gqa", "b=1,h=8/2,q=1,k=107,d=128,dtype=fp32"},
                                         Case{"gqa", "b=1,h=5/1,q=1,k=207,d=64,dtype=fp32"}));

INSTANTIATE_TEST_SUITE_P(gqa_wmma, DecodeRung, testing::Values(RACELINE_GROUPED_CASES("gqa_wmma")));

INSTANTIATE_TEST_SUITE_P(
    gqa_doublebuffer, DecodeRung,
    testing::Values(RACELINE_GROUPED_CASES("gqa_doublebuffer"),
                    Case{"gqa_doublebuffer", "b=1,h=8/2,q=1,k=157,d=128,dtype=fp32"},
                    Case{"gqa_doublebuffer", "b=1,h=5/1,q=1,k=207,d=64,dtype=fp32"}));

INSTANTIATE_TEST_SUITE_P(
    gqa_occupancy, DecodeRung,
    testing::Values(RACELINE_GROUPED_CASES("gqa_occupancy"),
                    Case{"gqa_occupancy", "b=1,h=8/2,q=1,k=157,d=128,dtype=fp32"},
                    Case{"gqa_occupancy", "b=1,h=5/1,q=1,k=207,d=64,dtype=fp32"}));

INSTANTIATE_TEST_SUITE_P(gqa_ilp, DecodeRung,
                         testing::Values(RACELINE_GROUPED_CASES("gqa_ilp"),
                                         Case{"gqa_ilp", "b=1,h=8/2,q=1,k=157,d=128,dtype=fp32"},
                                         Case{"gqa_ilp", "b=1,h=5/1,q=1,k=207,d=64,dtype=fp32"}));

INSTANTIATE_TEST_SUITE_P(gqa_scorestationary, DecodeRung,
                         testing::Values(RACELINE_GROUPED_CASES("gqa_scorestationary")));

INSTANTIATE_TEST_SUITE_P(fp8_kv, DecodeRung,
                         testing::Values(RACELINE_GROUPED_CASES_OF("fp8_kv", ",kv=e4m3")));

INSTANTIATE_TEST_SUITE_P(mla, DecodeRung, testing::Values(RACELINE_MLA_CASES("mla")));

INSTANTIATE_TEST_SUITE_P(nvfp4_kv, DecodeRung,
                         testing::Values(RACELINE_GROUPED_CASES_OF("nvfp4_kv", ",kv=nvfp4"),
                                         Case{"nvfp4_kv",
                                              "b=3,h=4/1,q=1,k=7,d=64,dtype=fp16,kv=nvfp4"},
                                         Case{"nvfp4_kv",
                                              "b=2,h=2/1,q=1,k=5;9,d=64,dtype=fp16,kv=nvfp4,"
                                              "page=1"}));

}  // namespace
}  // namespace raceline
