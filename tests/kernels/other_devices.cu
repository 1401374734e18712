// SPDX-License-Identifier: Apache-2.0
// Code that all devices share and in which some way is Hopper's alone: it is to be built for those
// before and behind it, too. Compiled by the test code_for_other_devices, and never run.
#include "kernels/rows_cuda/kept_rows.cuh"
#include "kernels/rows_cuda/staged_rows.cuh"

namespace raceline::kernels::rows_cuda {

constexpr std::size_t rmsnorm_chain = 20;
template __global__ void kept_rows<DType::bf16, rmsnorm_chain, kept_threads[1], true>(
    const __grid_constant__ KeptParams<compiled_programs[rmsnorm_chain].result + 1>);
template __global__ void staged_rows<DType::bf16, static_cast<int>(tile_list.size()) - 1>(
    const __grid_constant__ StagedParams);

}  // namespace raceline::kernels::rows_cuda
