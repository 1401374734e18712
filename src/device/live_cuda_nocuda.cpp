// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_properties.hpp"

namespace raceline {

bool read_cuda_properties(CudaProperties&) noexcept {
    return false;
}

}  // namespace raceline
