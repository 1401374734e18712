// SPDX-License-Identifier: Apache-2.0
// Checks the tensors, cuts the keys up and enqueues nvfp4_kv's one or two launches.
#include <cuda_runtime.h>
#include <string>

#include "ladder/nvfp4_kv/nvfp4_kv.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::nvfp4_kv {
namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("nvfp4_kv: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

// Rows are read and written in pieces of 16 bytes, and counted in 31 bits. Those of the cache are
// 32 codes, and a page of it is a multiple of 256 elements.
void check_strides(const TensorArg& t, const char* name, bool cache) {
    const int piece = cache ? 32 : 8;
    const int page = cache ? 256 : piece;
    if (reinterpret_cast<std::uintptr_t>(t.data) % 16 != 0 || t.batch_stride % page != 0 ||
        t.seq_stride % piece != 0 || t.head_stride % piece != 0 ||
        t.seq_stride != static_cast<std::int32_t>(t.seq_stride)) {
        throw Error(Status::unsupported,
                    std::string("nvfp4_kv: ") + name +
                        "'s address and strides must be multiples of 16 bytes, and its tokens "
                        "less than 2^31 elements apart");
    }
}

template <int d, int rows>
void launch_rows(const AttentionArgs& a, const Plan& plan, int row_warps, float* parts,
                 cudaStream_t stream) {
    const auto kernel = partial<d, rows>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(plan.smem_bytes)),
          "asking for shared memory");
    const dim3 grid(a.heads_kv, static_cast<unsigned>(plan.splits), a.batch);
    kernel<<<grid, threads, plan.smem_bytes, stream>>>(a, row_warps, static_cast<int>(plan.keys),
                                                       parts);
    check(cudaGetLastError(), "the launch of the partial answers");
}

template <int d>
void launch_dim(const AttentionArgs& a, const Plan& plan, void* workspace, cudaStream_t stream) {
    const auto address = (reinterpret_cast<std::uintptr_t>(workspace) + 15) / 16 * 16;
    auto* parts = plan.splits > 1 ? reinterpret_cast<float*>(address) : nullptr;
    const Packing packing = packing_of(a.heads_q / a.heads_kv);
    const auto rows = packing.rows == 1   ? launch_rows<d, 1>
                      : packing.rows == 2 ? launch_rows<d, 2>
                      : packing.rows == 4 ? launch_rows<d, 4>
                                          : launch_rows<d, 8>;
    rows(a, plan, packing.row_warps, parts, stream);
    if (plan.splits > 1) {
        const dim3 grid(a.heads_q, a.batch);
        merge<__half, d><<<grid, threads, 0, stream>>>(a, static_cast<int>(plan.splits), parts);
        check(cudaGetLastError(), "the launch of the merge");
    }
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    check_strides(a.q, "q", false);
    check_strides(a.k, "k", true);
    check_strides(a.v, "v", true);
    check_strides(a.out, "out", false);
    const Plan plan = make_plan(a.batch, a.heads_q, a.heads_kv, a.seqlen_k, a.headdim,
                                tiles.at(static_cast<std::size_t>(tile)), device);
    const auto of_dim = a.headdim == 64 ? launch_dim<64> : launch_dim<128>;
    of_dim(a, plan, workspace, static_cast<cudaStream_t>(stream));
}

}  // namespace raceline::kernels::nvfp4_kv
