// SPDX-License-Identifier: Apache-2.0
// paged's main launch, for the rungs that change it.
#pragma once

#include "ladder/decode/counts.hpp"

namespace raceline::kernels::paged {

decode::Form form_of(const Workload& w);

}  // namespace raceline::kernels::paged
