// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <string>

#include "kernels/prefill_sm90/launch.cuh"
#include "raceline/error.hpp"
#include "support/cuda_check.cuh"

namespace raceline::kernels::hopper {
namespace {

constexpr std::int64_t chunk_bytes = 16;

// By name from the driver that the runtime has loaded: nothing to link, nothing to find.
PFN_cuTensorMapEncodeTiled_v12000 find_encoder() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                cudaEnableDefault, &found),
               "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess || function == nullptr) {
        throw Error(Status::internal, "the driver has no cuTensorMapEncodeTiled");
    }
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

// A dimension of one element is never stepped over: its stride may be anything that is accepted.
cuuint64_t stride_bytes(std::int64_t stride, std::int64_t extent, Elements type) {
    return static_cast<cuuint64_t>(extent > 1 ? stride * bytes_of(type) : chunk_bytes);
}

CUtensorMapDataType map_type(Elements type) {
    switch (type) {
        case Elements::fp16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
        case Elements::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
        case Elements::e4m3: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    }
    throw Error(Status::internal, "a type of elements without a type of tensor map");
}

}  // namespace

Extents extents_of(const AttentionArgs& a) {
    const auto extent = [&](std::int64_t headdim, std::int64_t heads, const void* packed,
                            std::int64_t tokens, std::int64_t seqlen) {
        const std::int64_t length = packed != nullptr ? tokens : seqlen;
        return TensorExtent{headdim, std::max<std::int64_t>(1, length), heads,
                            packed != nullptr ? 1 : a.batch};
    };
    return {extent(a.headdim, a.heads_q, a.cu_seqlens_q, a.tokens_q, a.seqlen_q),
            extent(a.headdim, a.heads_kv, a.cu_seqlens_k, a.tokens_k, a.seqlen_k),
            extent(a.headdim_v, a.heads_kv, a.cu_seqlens_k, a.tokens_k, a.seqlen_k),
            extent(a.headdim_v, a.heads_q, a.cu_seqlens_q, a.tokens_q, a.seqlen_q)};
}

bool can_map(const TensorArg& t, const TensorExtent& extent, Elements type) {
    constexpr std::int64_t most = std::int64_t{1} << 40;  // cuTensorMapEncodeTiled, globalStrides
    const auto strides_well = [type](std::int64_t stride, std::int64_t count) {
        const std::int64_t bytes = stride * bytes_of(type);
        return count <= 1 || (bytes > 0 && bytes < most && bytes % chunk_bytes == 0);
    };
    return reinterpret_cast<std::uintptr_t>(t.data) % chunk_bytes == 0 &&
           strides_well(t.seq_stride, extent.seqlen) && strides_well(t.head_stride, extent.heads) &&
           strides_well(t.batch_stride, extent.batch);
}

CUtensorMap make_tensor_map(const char* name, const TensorArg& t, const TensorExtent& extent,
                            const Boxes& boxes) {
    static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encoder();
    const cuuint64_t sizes[4] = {
        static_cast<cuuint64_t>(extent.headdim), static_cast<cuuint64_t>(extent.seqlen),
        static_cast<cuuint64_t>(extent.heads), static_cast<cuuint64_t>(extent.batch)};
    const cuuint64_t strides[3] = {stride_bytes(t.seq_stride, extent.seqlen, boxes.type),
                                   stride_bytes(t.head_stride, extent.heads, boxes.type),
                                   stride_bytes(t.batch_stride, extent.batch, boxes.type)};
    const cuuint32_t box[4] = {static_cast<cuuint32_t>(boxes.row_bytes / bytes_of(boxes.type)),
                               static_cast<cuuint32_t>(boxes.rows), 1, 1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    CUtensorMap map{};
    const CUresult status =
        encode(&map, map_type(boxes.type), 4, t.data, sizes, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE,
               boxes.row_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) {
        throw Error(Status::internal, std::string("the driver refused a map of ") + name +
                                          " (CUresult " + std::to_string(status) + ")");
    }
    return map;
}

}  // namespace raceline::kernels::hopper
