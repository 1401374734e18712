// SPDX-License-Identifier: Apache-2.0
// Softcap: one tile a pair of head dims.
#include "kernels/prefill_sm90/dispatch.cuh"

template void raceline::kernels::prefill_sm90::launch_headdim<64, false, true>(
    int, const raceline::kernels::prefill_sm90::Params&, int, void*);
template void raceline::kernels::prefill_sm90::launch_headdim<128, false, true>(
    int, const raceline::kernels::prefill_sm90::Params&, int, void*);
template void raceline::kernels::prefill_sm90::launch_headdim<192, false, true>(
    int, const raceline::kernels::prefill_sm90::Params&, int, void*);
template void raceline::kernels::prefill_sm90::launch_headdim<256, false, true>(
    int, const raceline::kernels::prefill_sm90::Params&, int, void*);
