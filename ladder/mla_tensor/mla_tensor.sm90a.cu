// SPDX-License-Identifier: Apache-2.0
// Checks the tensors, cuts the keys up and enqueues mla_tensor's one or two launches.
#include <cuda_runtime.h>
#include <string>

#include "ladder/mla_tensor/mla_tensor.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::mla_tensor {
namespace {

static_assert(sizeof(Exchange) + 3 * operand_bytes + swizzle_bytes == smem_bytes);

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("mla_tensor: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

// Rows are read and written in pieces of 16 bytes, and counted in 31 bits.
void check_strides(const TensorArg& t, const char* name) {
    constexpr std::int64_t piece = 8;
    if (reinterpret_cast<std::uintptr_t>(t.data) % 16 != 0 || t.batch_stride % piece != 0 ||
        t.seq_stride % piece != 0 || t.head_stride % piece != 0 ||
        t.seq_stride != static_cast<std::int32_t>(t.seq_stride)) {
        throw Error(Status::unsupported,
                    std::string("mla_tensor: ") + name +
                        "'s address and strides must be multiples of 16 bytes, and its tokens "
                        "less than 2^31 elements apart");
    }
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace,
            void* stream_handle) {
    check_strides(a.q, "q");
    check_strides(a.k, "k");
    check_strides(a.out, "out");
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const Plan plan =
        make_plan(a.batch, a.heads_q, a.seqlen_k, tiles.at(static_cast<std::size_t>(tile)), device);
    const auto address = (reinterpret_cast<std::uintptr_t>(workspace) + 15) / 16 * 16;
    auto* parts = plan.splits > 1 ? reinterpret_cast<float*>(address) : nullptr;
    if (plan.ctas == 0) {
        return;
    }
    const auto kernel = partial<0>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(smem_bytes)),
          "asking for shared memory");
    kernel<<<static_cast<unsigned>(plan.ctas), threads, smem_bytes, stream>>>(
        a, static_cast<int>(plan.splits), static_cast<int>(plan.keys), parts);
    check(cudaGetLastError(), "the launch of the partial answers");
    if (plan.splits > 1) {
        const dim3 grid(a.heads_q, a.batch);
        merge<<<grid, threads, 0, stream>>>(a, static_cast<int>(plan.splits), parts);
        check(cudaGetLastError(), "the launch of the merge");
    }
}

}  // namespace raceline::kernels::mla_tensor
