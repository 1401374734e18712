// SPDX-License-Identifier: Apache-2.0
// Every kernel that runs on a CPU, from the generated list, through the gate on this one.
#include "registry/registry.hpp"

#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "tests/proof/proof.hpp"

namespace raceline {
namespace {

TEST(Proof, every_kernel_of_a_cpu_passes_the_gate) {
    const auto backend = make_cpu_backend(live_cpu());
    int kernels = 0;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.engine == Engine::cpu) {
            EXPECT_GE(test::prove(*backend, kernel, 40), 10) << kernel.name;
            ++kernels;
        }
    }
    EXPECT_GE(kernels, 1);
}

}  // namespace
}  // namespace raceline
