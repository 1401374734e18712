// SPDX-License-Identifier: Apache-2.0
// Every rung's own source, run on the host and judged by the gate, over every tile and every shape
// below that it supports. What only a GPU can show (the memory model, real rounding, speed) is not
// shown here.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// Lengths that are no multiple of a tile, more queries than keys and fewer, no keys at all.
const std::vector<std::string> shapes{
    "b=2,h=2,q=37,k=70,d=64,dtype=fp16",
    "b=2,h=2,q=37,k=70,d=64,dtype=fp32",
    "b=1,h=2,q=70,k=37,d=128,dtype=fp16,causal",
    "b=1,h=1,q=70,k=37,d=128,dtype=fp32,causal",
    "b=1,h=2,q=150,k=150,d=64,dtype=fp16,causal",
    "b=1,h=1,q=37,k=300,d=128,dtype=fp16,causal",
    "b=1,h=1,q=3,k=0,d=64,dtype=fp16",
    "b=1,h=2,q=1,k=513,d=128,dtype=fp16",
    "b=1,h=1,q=128,k=128,d=64,dtype=fp16",
    "b=1,h=1,q=65,k=1,d=128,dtype=fp16",
};

// From the build: the folders whose device files are linked into this program.
const std::vector<std::string> rungs{RACELINE_EMULATED};

class Rung : public testing::TestWithParam<std::string> {};
TEST_P(Rung, is_correct_in_every_tile) {
    const Kernel& kernel = find_kernel(GetParam());
    const Device device = test::small_hopper_gpu(7);
    int ran = 0;
    for (const std::string& shape : shapes) {
        const Workload w = parse_shape(shape);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                const Correctness c = test::run_emulated(kernel, w, tile, device);
                EXPECT_TRUE(c.passed) << shape << ' ' << kernel.tile_text(tile) << ": " << c.why;
                ++ran;
            }
        }
    }
    EXPECT_GE(ran, 6) << "the shapes of this test are too few for it";
}
INSTANTIATE_TEST_SUITE_P(Emulated, Rung, testing::ValuesIn(rungs),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace raceline
