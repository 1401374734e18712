// SPDX-License-Identifier: Apache-2.0
// What kernels ask the CPU that they are to be launched on. Nothing is launched here, and counts
// ask the device that they are given.
#include "kernels/cpu_flash/plan.hpp"

namespace raceline::kernels::cpu_flash {

bool uses_dot(DType /*dtype*/, DType /*kv_dtype*/, bool /*decode*/) {
    return false;
}

}  // namespace raceline::kernels::cpu_flash
