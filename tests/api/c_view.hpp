// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "raceline/raceline.h"
#include "tests/api/workload_call.hpp"

namespace raceline::tests {

/// A view as C describes it.
inline rl_tensor c_view(const TensorView& view) {
    rl_tensor tensor = RL_INIT(rl_tensor);
    tensor.data = view.data;
    tensor.dtype = static_cast<std::int32_t>(view.dtype);
    tensor.rank = static_cast<std::int32_t>(view.shape.size());
    std::copy(view.shape.begin(), view.shape.end(), tensor.shape);
    std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
    return tensor;
}

}  // namespace raceline::tests
