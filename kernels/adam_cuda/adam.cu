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

/// Four neighbouring elements of a tensor, as they are stored: 16 or 8 bytes.
template <DType type>
struct Four {
    static constexpr int words = gpu::width_of<type>;
    std::uint32_t raw[words];

    /// From element `at` on. `whole`: there are four, at an address that one load takes.
    __device__ __forceinline__ void load(const char* tensor, std::int64_t at, int there,
                                         bool whole) {
        const char* from = tensor + at * gpu::width_of<type>;
        if (whole) {
            if constexpr (words == 4) {
                const uint4 all = __ldg(reinterpret_cast<const uint4*>(from));
                raw[0] = all.x, raw[1] = all.y, raw[2] = all.z, raw[3] = all.w;
            } else {
                const uint2 all = __ldg(reinterpret_cast<const uint2*>(from));
                raw[0] = all.x, raw[1] = all.y;
            }
            return;
        }
#pragma unroll
        for (int w = 0; w < words; ++w) {
            raw[w] = 0;
        }
#pragma unroll
        for (int e = 0; e < unit; ++e) {
            if (e < there) {
                if constexpr (words == 4) {
                    raw[e] = reinterpret_cast<const std::uint32_t*>(from)[e];
                } else {
                    raw[e / 2] |=
                        static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(from)[e])
                        << (16 * (e % 2));
                }
            }
        }
    }
    __device__ __forceinline__ float operator[](int e) const {
        if constexpr (words == 4) {
            return __uint_as_float(raw[e]);
        } else {
            return __uint_as_float(e % 2 == 0 ? raw[e / 2] << 16 : raw[e / 2] & 0xFFFF0000U);
        }
    }
};

template <DType type>
__device__ __forceinline__ void store(char* tensor, std::int64_t at, int there, bool whole,
                                      const float (&x)[unit]) {
    gpu::store_chunk<type>(tensor + at * gpu::width_of<type>, 0, there, whole, x);
}

template <DType type, DType state, bool master>
__global__ void __launch_bounds__(256, resident_threads / 256)
    adam(const __grid_constant__ Params p) {
    // A warp's lanes take neighbouring fours, whatever a tensor's type: every access is whole
    // sectors.
    const std::int64_t first_at =
        (static_cast<std::int64_t>(blockIdx.x) * units * blockDim.x + threadIdx.x) * unit;
    constexpr DType read = master ? DType::fp32 : type;
    Four<read> parameter[units];
    Four<type> gradient[units];
    Four<state> first[units], second[units];
    const auto at_unit = [&](int u) {
        return first_at + static_cast<std::int64_t>(u) * blockDim.x * unit;
    };
    const auto there = [&](int u) {
        const std::int64_t left = p.parameters - at_unit(u);
        return static_cast<int>(left < unit ? left : unit);
    };
#pragma unroll
    for (int u = 0; u < units; ++u) {
        const bool whole = p.aligned && there(u) == unit;
        parameter[u].load(p.tensors[adam_parameter], at_unit(u), there(u), whole);
        gradient[u].load(p.tensors[adam_gradient], at_unit(u), there(u), whole);
        first[u].load(p.tensors[adam_first], at_unit(u), there(u), whole);
        second[u].load(p.tensors[adam_second], at_unit(u), there(u), whole);
    }
    const AdamStep& s = p.step;
#pragma unroll
    for (int u = 0; u < units; ++u) {
        const bool whole = p.aligned && there(u) == unit;
        float x[unit], m[unit], v[unit];
#pragma unroll
        for (int e = 0; e < unit; ++e) {
            const float g = gradient[u][e];
            m[e] = fmaf(s.beta1, first[u][e], s.new1 * g);
            v[e] = fmaf(s.beta2, second[u][e], s.new2 * (g * g));
            const float root = fmaf(sqrtf(v[e]), s.unbias, s.eps);
            x[e] = fmaf(s.keep, parameter[u][e], -s.rate * (m[e] / root));
        }
        store<type>(p.tensors[adam_new_parameter], at_unit(u), there(u), whole, x);
        store<state>(p.tensors[adam_new_first], at_unit(u), there(u), whole, m);
        store<state>(p.tensors[adam_new_second], at_unit(u), there(u), whole, v);
        if constexpr (master) {
            store<DType::fp32>(p.tensors[adam_new_master], at_unit(u), there(u), whole, x);
        }
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
