// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/adam_step.hpp"

namespace raceline::kernels::adam_cpu {

/// One launch, as every target runs it.
struct Call {
    const OperationArgs& args;
    AdamStep step;
    bool stream;
};

}  // namespace raceline::kernels::adam_cpu
