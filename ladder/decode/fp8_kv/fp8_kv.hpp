// SPDX-License-Identifier: Apache-2.0
// fp8_kv's main launch, for the rung that changes it.
#pragma once

#include "ladder/decode/counts.hpp"

namespace raceline::kernels::fp8_kv {

decode::Form form_of(const Workload& w);

}  // namespace raceline::kernels::fp8_kv
