// SPDX-License-Identifier: Apache-2.0
// A build without CUDA has no kernels to probe with. probe_cuda says so before it gets here.
#include "device/probe_gpu.hpp"
#include "raceline/error.hpp"

namespace raceline::probe {

const GpuKernels& gpu_kernels() {
    throw Error(Status::no_device, "probing a GPU needs a build with CUDA; this one has none");
}

}  // namespace raceline::probe
