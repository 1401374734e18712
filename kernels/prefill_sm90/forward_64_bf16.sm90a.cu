// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90/dispatch.cuh"

template void raceline::kernels::prefill_sm90::launch_headdim<64, true, false>(
    int, const raceline::kernels::prefill_sm90::Params&, int, void*);
