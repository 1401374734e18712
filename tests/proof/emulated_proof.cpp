// SPDX-License-Identifier: Apache-2.0
// Every kernel whose device code this program runs on the host, through the gate. CMake names them
// from the generated list (tests/emulated.cmake); whoever adds a kernel adds nothing here.
#include <gtest/gtest.h>
#include <string>

#include "registry/registry.hpp"
#include "tests/proof/proof.hpp"

namespace raceline {
namespace {

class Proof : public testing::TestWithParam<std::string> {};

// Few SMs: a CTA has several work tiles, and keys are split in few parts.
TEST_P(Proof, passes_the_gate_on_the_emulated_machine) {
    const auto backend = make_cpu_backend(test::small_hopper_gpu(3));
    EXPECT_GE(test::prove(*backend, find_kernel(GetParam()), 6), 2) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Emulated, Proof, testing::Values(RACELINE_EMULATED),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace raceline
