// SPDX-License-Identifier: Apache-2.0
// prefill_sm90_fp8's names for the arithmetic that persistent kernels share.
#pragma once

#include "gpu/tile/schedule.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

using gpu::Band;
using gpu::Blocks;
using gpu::divide_up;
using gpu::Divider;
using gpu::draw_lead;
using gpu::index_of;
using gpu::Item;
using gpu::larger;
using gpu::nowhere;
using gpu::Order;
using gpu::Rows;
using gpu::smaller;

}  // namespace raceline::kernels::prefill_sm90_fp8
