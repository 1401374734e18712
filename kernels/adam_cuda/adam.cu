// SPDX-License-Identifier: Apache-2.0
// One step of Adam: a thread has eight neighbouring parameters. It asks for all it reads of them
// before it computes anything.
#include <cstdint>

#include "gpu/tile/chunk.cuh"
#include "kernels/adam_cuda/tile.hpp"
#include "registry/enqueue.cuh"
#include "workload/adam_step.hpp"

namespace raceline::kernels::adam_cuda {
namespace {

struct Params {
    AdamStep step;
    char* tensors[adam_new_master + 1];
    std::int64_t parameters;
    bool aligned;  ///< all tensors begin at multiples of 16 bytes
};

/// Neighbouring elements of a tensor, as they are stored.
template <DType type>
struct Eight {
    static constexpr int chunks = per_thread / gpu::chunk_of<type>;
    uint4 raw[chunks];

    __device__ __forceinline__ void load(const Params& p, AdamTensor tensor, std::int64_t at) {
        const char* from = p.tensors[tensor] + at * gpu::width_of<type>;
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = gpu::load_chunk<type>(from, c, p.parameters - at,
                                           p.aligned && at + per_thread <= p.parameters);
        }
    }
    __device__ __forceinline__ void widen(float (&x)[per_thread]) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            float part[gpu::chunk_of<type>];
            gpu::widen<type>(raw[c], part);
#pragma unroll
            for (int e = 0; e < gpu::chunk_of<type>; ++e) {
                x[c * gpu::chunk_of<type> + e] = part[e];
            }
        }
    }
};

template <DType type>
__device__ __forceinline__ void store(const Params& p, AdamTensor tensor, std::int64_t at,
                                      const float (&x)[per_thread]) {
    char* to = p.tensors[tensor] + at * gpu::width_of<type>;
#pragma unroll
    for (int c = 0; c < per_thread / gpu::chunk_of<type>; ++c) {
        float part[gpu::chunk_of<type>];
#pragma unroll
        for (int e = 0; e < gpu::chunk_of<type>; ++e) {
            part[e] = x[c * gpu::chunk_of<type> + e];
        }
        gpu::store_chunk<type>(to, c, p.parameters - at,
                               p.aligned && at + per_thread <= p.parameters, part);
    }
}

template <DType type, DType state, bool master>
__global__ void __launch_bounds__(256, resident_threads / 256)
    adam(const __grid_constant__ Params p) {
    const std::int64_t at =
        (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * per_thread;
    if (at >= p.parameters) {
        return;
    }
    constexpr DType read = master ? DType::fp32 : type;
    Eight<read> parameter;
    Eight<type> gradient;
    Eight<state> first, second;
    parameter.load(p, adam_parameter, at);
    gradient.load(p, adam_gradient, at);
    first.load(p, adam_first, at);
    second.load(p, adam_second, at);
    float x[per_thread], g[per_thread], m[per_thread], v[per_thread];
    parameter.widen(x);
    gradient.widen(g);
    first.widen(m);
    second.widen(v);
    const AdamStep& s = p.step;
#pragma unroll
    for (int e = 0; e < per_thread; ++e) {
        m[e] = fmaf(s.beta1, m[e], s.new1 * g[e]);
        v[e] = fmaf(s.beta2, v[e], s.new2 * (g[e] * g[e]));
        const float root = fmaf(sqrtf(v[e]), s.unbias, s.eps);
        x[e] = fmaf(s.keep, x[e], -s.rate * (m[e] / root));
    }
    store<type>(p, adam_new_parameter, at, x);
    store<state>(p, adam_new_first, at, m);
    store<state>(p, adam_new_second, at, v);
    if constexpr (master) {
        store<DType::fp32>(p, adam_new_master, at, x);
    }
}

template <DType type, DType state>
void launch_types(const Params& p, bool master, const LaunchShape& shape) {
    enqueue("adam_cuda", master ? adam<type, state, true> : adam<type, state, false>, shape, p);
}

template <DType type>
void launch_type(const Params& p, DType state, bool master, const LaunchShape& shape) {
    state == DType::bf16 ? launch_types<type, DType::bf16>(p, master, shape)
                         : launch_types<type, DType::fp32>(p, master, shape);
}

}  // namespace

void launch(const OperationArgs& args, int tile, const Device& /*device*/, void* /*workspace*/,
            void* stream) {
    const Tile& its = tile_list.at(static_cast<std::size_t>(tile));
    Params p{};
    p.step = adam_step_of(args);
    p.parameters = args.extents[0] * args.extents[1];
    p.aligned = true;
    for (int i = 0; i <= adam_new_master; ++i) {
        p.tensors[i] = static_cast<char*>(args.tensors.at(static_cast<std::size_t>(i)).data);
        p.aligned = p.aligned && reinterpret_cast<std::uintptr_t>(p.tensors[i]) % 16 == 0;
    }
    const LaunchShape shape{dim3(static_cast<unsigned>(ctas_of(p.parameters, its))), its.threads, 0,
                            stream};
    const DType state = args.tensors[adam_first].dtype;
    const bool master = args.tensors[adam_new_master].rows > 0;
    args.dtype == DType::bf16 ? launch_type<DType::bf16>(p, state, master, shape)
                              : launch_type<DType::fp32>(p, state, master, shape);
}

}  // namespace raceline::kernels::adam_cuda
