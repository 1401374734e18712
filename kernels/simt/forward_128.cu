// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/dispatch.cuh"

template void raceline::kernels::simt::launch_width<128>(int, const Params&, std::int64_t,
                                                         std::int64_t, void*);
