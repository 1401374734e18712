// SPDX-License-Identifier: Apache-2.0
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <string>

#include "kernels/prefill_sm90_fp8/tensor_map.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

constexpr std::int64_t piece_bytes = 16;

// By name from the driver that the runtime has loaded: nothing to link, nothing to find.
PFN_cuTensorMapEncodeTiled_v12000 find_encoder() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                                12000, cudaEnableDefault, &found);
    if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || function == nullptr) {
        throw Error(Status::internal,
                    std::string("prefill_sm90_fp8: the driver has no cuTensorMapEncodeTiled (") +
                        cudaGetErrorName(status) + ")");
    }
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

// A dimension of one element is never stepped over: its stride may be anything that is accepted.
cuuint64_t stride_bytes(std::int64_t stride, std::int64_t extent) {
    return static_cast<cuuint64_t>(extent > 1 ? stride : piece_bytes);
}

}  // namespace

bool can_map(const TensorArg& t, const TensorExtent& extent) {
    constexpr std::int64_t most = std::int64_t{1} << 40;  // cuTensorMapEncodeTiled, globalStrides
    const auto strides_well = [](std::int64_t stride, std::int64_t count) {
        return count <= 1 || (stride > 0 && stride < most && stride % piece_bytes == 0);
    };
    return reinterpret_cast<std::uintptr_t>(t.data) % piece_bytes == 0 &&
           strides_well(t.seq_stride, extent.seqlen) && strides_well(t.head_stride, extent.heads) &&
           strides_well(t.batch_stride, extent.batch);
}

CUtensorMap make_tensor_map(const char* name, const TensorArg& t, const TensorExtent& extent,
                            int columns, int rows) {
    static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encoder();
    const cuuint64_t sizes[4] = {
        static_cast<cuuint64_t>(extent.headdim), static_cast<cuuint64_t>(extent.seqlen),
        static_cast<cuuint64_t>(extent.heads), static_cast<cuuint64_t>(extent.batch)};
    const cuuint64_t strides[3] = {stride_bytes(t.seq_stride, extent.seqlen),
                                   stride_bytes(t.head_stride, extent.heads),
                                   stride_bytes(t.batch_stride, extent.batch)};
    const cuuint32_t box[4] = {static_cast<cuuint32_t>(columns), static_cast<cuuint32_t>(rows), 1,
                               1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    CUtensorMap map{};
    const CUresult status =
        encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, t.data, sizes, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE,
               columns == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) {
        throw Error(Status::internal,
                    std::string("prefill_sm90_fp8: the driver refused a map of ") + name +
                        " (CUresult " + std::to_string(status) + ")");
    }
    return map;
}

}  // namespace raceline::kernels::prefill_sm90_fp8
