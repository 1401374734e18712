// SPDX-License-Identifier: Apache-2.0
// What kernels ask the CPU that they are to be launched on. Nothing is launched here, and counts
// ask the device that they are given.
#include "kernels/cpu_flash/plan.hpp"
#include "kernels/linear_onednn/tile.hpp"

namespace raceline::kernels::cpu_flash {

Products products_of(const TypesOfCall& /*call*/) {
    return Products::floats;
}

}  // namespace raceline::kernels::cpu_flash

namespace raceline::kernels::linear_onednn {

std::string why_not_loaded() {
    return "no library is loaded here";
}
std::size_t scratch_bytes(const Product& /*product*/) {
    return 0;
}

}  // namespace raceline::kernels::linear_onednn
