// SPDX-License-Identifier: Apache-2.0
#include "run/device_draw.hpp"
#include "support/check.hpp"

namespace raceline::device_gate {

void fill(const Fill&) {
    fail(Status::no_device, "inputs are drawn on a GPU only by a build with CUDA");
}

}  // namespace raceline::device_gate
