// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_mma/dispatch.cuh"

template void raceline::kernels::prefill_mma::launch_headdim<256, true>(
    int, const raceline::kernels::prefill_mma::Params&, int, void*);
