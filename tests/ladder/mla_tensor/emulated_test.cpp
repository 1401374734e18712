// SPDX-License-Identifier: Apache-2.0
// mla_tensor's own source on an emulated SM, judged by the gate. The emulation knows Hopper's
// operand layouts from the manual, not from the kernel. What only a GPU can show (the memory model,
// the instructions themselves, speed) stays to it.
#include <gtest/gtest.h>

#include "registry/registry.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

class MlaTensor : public testing::TestWithParam<const char*> {};

// One unit: unsplit but for the smallest tile; three: splits, the last one short.
TEST_P(MlaTensor, is_correct) {
    const Kernel& kernel = find_kernel("mla_tensor");
    const Workload w = parse_shape(GetParam());
    for (const int units : {1, 3}) {
        const Device device = test::small_hopper_gpu(units);
        for (const int tile : {1, kernel.tile_count() - 1}) {
            ASSERT_EQ(kernel.why_not(w, tile, device), "");
            const Correctness c = test::run_emulated(kernel, w, tile, device);
            EXPECT_TRUE(c.passed) << GetParam() << ' ' << kernel.tile_text(tile) << " on " << units
                                  << " units: " << c.why;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Emulated, MlaTensor,
                         testing::Values("b=1,h=64,q=1,k=64,mla=512+64,dtype=fp16",
                                         "b=1,h=128,q=1,k=200,mla=512+64,dtype=fp16",
                                         "b=3,h=16,q=1,k=100;131;7,mla=512+64,dtype=fp16,page=16",
                                         "b=1,h=1,q=1,k=333,mla=512+64,dtype=fp16,causal",
                                         "b=2,h=70,q=1,k=65,mla=512+64,dtype=fp16",
                                         "b=2,h=5,q=1,k=0;150,mla=512+64,dtype=fp16,page=1",
                                         "b=2,h=3,q=1,k=0,mla=512+64,dtype=fp16"));

}  // namespace
}  // namespace raceline
