// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows_cuda/launch_type.cuh"

namespace raceline::kernels::rows_cuda {

template void launch_type<DType::bf16>(const Params&, int, int, void*);

}  // namespace raceline::kernels::rows_cuda
