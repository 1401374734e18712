// SPDX-License-Identifier: Apache-2.0
// Checks the tensors, cuts the keys up and enqueues mla's one or two launches.
#include <cuda_runtime.h>
#include <string>

#include "ladder/mla/mla.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::mla {
namespace {

static_assert(4 * warps * most_rows * part_floats <= stage_bytes);

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("mla: ") + what +
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
                    std::string("mla: ") + name +
                        "'s address and strides must be multiples of 16 bytes, and its tokens "
                        "less than 2^31 elements apart");
    }
}

template <int rows>
void launch_rows(const AttentionArgs& a, const Plan& plan, int row_warps, float* parts,
                 cudaStream_t stream) {
    const auto kernel = partial<rows>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(stage_bytes)),
          "asking for shared memory");
    const dim3 grid(static_cast<unsigned>(plan.head_blocks), static_cast<unsigned>(plan.splits),
                    a.batch);
    kernel<<<grid, threads, stage_bytes, stream>>>(a, row_warps, static_cast<int>(plan.keys),
                                                   parts);
    check(cudaGetLastError(), "the launch of the partial answers");
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
    const Packing packing = packing_of(a.heads_q);
    const auto rows = packing.rows == 1   ? launch_rows<1>
                      : packing.rows == 2 ? launch_rows<2>
                                          : launch_rows<4>;
    rows(a, plan, packing.row_warps, parts, stream);
    if (plan.splits > 1) {
        const dim3 grid(a.heads_q, a.batch);
        merge<<<grid, threads, 0, stream>>>(a, static_cast<int>(plan.splits), parts);
        check(cudaGetLastError(), "the launch of the merge");
    }
}

}  // namespace raceline::kernels::mla
