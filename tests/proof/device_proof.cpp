// SPDX-License-Identifier: Apache-2.0
// Every kernel that this build has device code for and that runs here, through the gate on the GPU.
// Needs one, so ctest does not run it: tools/device_quickstart.sh does.
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "tests/proof/proof.hpp"

namespace raceline {
namespace {

TEST(Proof, every_kernel_of_a_gpu_passes_the_gate) {
    const Device device = live_cuda().value();
    const auto backend = make_cuda_backend(device);
    int kernels = 0;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.engine == Engine::cuda && kernel.launch != nullptr &&
            !code_hash_of(kernel, device).empty()) {
            EXPECT_GE(test::prove(*backend, kernel, 60), 2) << kernel.name;
            ++kernels;
        }
    }
    EXPECT_GE(kernels, 1);
}

}  // namespace
}  // namespace raceline
