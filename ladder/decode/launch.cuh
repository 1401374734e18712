// SPDX-License-Identifier: Apache-2.0
// Checks the tensors of a decode rung and enqueues its one or two launches.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <string>

#include "ladder/decode/part.cuh"
#include "raceline/error.hpp"
#include "registry/enqueue.cuh"

namespace raceline::kernels::decode {

/// Rows are read and written in chunks of 16 bytes, and counted in 31 bits. In NVFP4 those are 32
/// codes, and a page is a multiple of 256 elements.
inline void check_strides(const char* rung, const TensorArg& t, const char* name, DType dtype) {
    const bool codes = dtype == DType::nvfp4;
    const auto chunk = codes ? 32 : static_cast<std::int64_t>(16 / bytes_of(dtype));
    const auto page = codes ? 256 : chunk;
    if (reinterpret_cast<std::uintptr_t>(t.data) % 16 != 0 || t.batch_stride % page != 0 ||
        t.seq_stride % chunk != 0 || t.head_stride % chunk != 0 ||
        t.seq_stride != static_cast<std::int32_t>(t.seq_stride)) {
        throw Error(Status::unsupported,
                    std::string(rung) + ": " + name +
                        "'s address and strides must be multiples of 16 bytes, and its tokens "
                        "less than 2^31 elements apart");
    }
}

/// A call of a rung, cut.
struct Launch {
    const char* rung;
    const AttentionArgs& args;
    Plan plan;
    void *workspace, *stream;

    void check_tensors(bool with_v = true) const {
        check_strides(rung, args.q, "q", args.dtype);
        check_strides(rung, args.k, "k", args.kv_dtype);
        if (with_v) {
            check_strides(rung, args.v, "v", args.kv_dtype);
        }
        check_strides(rung, args.out, "out", args.dtype);
    }

    /// Enqueues the partial answers and, if the keys are split, their merge. `own`: what `partial`
    /// takes between the call and the keys of a split.
    template <class Merge, class... Parameters, class... Own>
    void enqueue(void (*partial)(Parameters...), Merge merge, dim3 grid, int cta_threads,
                 Own... own) const {
        const auto address = (reinterpret_cast<std::uintptr_t>(workspace) + 15) / 16 * 16;
        auto* parts = plan.splits > 1 ? reinterpret_cast<float*>(address) : nullptr;
        const auto smem = static_cast<std::size_t>(plan.smem_bytes);
        raceline::enqueue(rung, partial, {grid, cta_threads, smem, stream}, args, own...,
                          static_cast<int>(plan.keys), parts);
        if (plan.splits > 1) {
            const dim3 rows(args.heads_q, args.batch);
            raceline::enqueue(rung, merge, {rows, cta_threads, 0, stream}, args,
                              static_cast<int>(plan.splits), parts);
        }
    }
    /// The same with a CTA for every KV head, split and sequence, or for every query head.
    template <class Merge, class... Parameters, class... Own>
    void enqueue_heads(int heads, void (*partial)(Parameters...), Merge merge, Own... own) const {
        const dim3 grid(heads, static_cast<unsigned>(plan.splits), args.batch);
        enqueue(partial, merge, grid, threads, own...);
    }
};

/// A call as a rung cuts it whose CTAs are laid out so.
inline Launch cut(const char* rung, const AttentionArgs& a, Layout (&layout_of)(const Call&),
                  const Tile& tile, const Device& device, void* workspace, void* stream) {
    const Call call = call_of(a);
    return {rung, a, plan_of(layout_of(call), call, tile, device), workspace, stream};
}

/// Checks the tensors and calls `then` with a zero of the type of Q, which is one of these, and
/// with the head dim.
template <class... Types, class Then>
void with_call(const Launch& call, const Then& then) {
    call.check_tensors();
    const auto of_type = [&](auto zero) {
        if (call.args.dtype == (sizeof(zero) == 2 ? DType::fp16 : DType::fp32)) {
            with_value<64, 128>(call.args.headdim, [&](auto d) { then(zero, d); });
        }
    };
    (of_type(Types()), ...);
}

}  // namespace raceline::kernels::decode
