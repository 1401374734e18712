// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/dispatch.cuh"

template void raceline::kernels::prefill_sm90_fp8::launch_headdim<256>(
    int, const raceline::kernels::prefill_sm90_fp8::Params&, int, void*);
