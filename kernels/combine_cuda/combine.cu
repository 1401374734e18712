// SPDX-License-Identifier: Apache-2.0
// A thread has 16 bytes of a row of the output. It asks for those bytes of several parts at once,
// and for their LSEs, before it looks at any: what takes time here is memory alone.
#include <cstdint>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "gpu/tile/chunk.cuh"
#include "gpu/tile/schedule.hpp"
#include "kernels/combine_cuda/tile.hpp"
#include "registry/enqueue.cuh"
#include "workload/combine_call.hpp"

namespace raceline::kernels::combine_cuda {
namespace {

struct Params {
    CombineCall call;
    schedule::Divider by_heads;
    std::int32_t parts, rows;    ///< rows: times heads
    std::int32_t chunks, lanes;  ///< of 16 bytes of a row; threads that share one, a power of two
    std::int32_t lanes_shift;
    std::int64_t to_next_part;  ///< bytes
    bool aligned_out;
};

using gpu::chunk_of;
using gpu::width_of;

/// Weighted sums of `elements` columns, relative to exp(base).
template <int elements>
struct Sums {
    float base, sum;
    float out[elements];
};

/// Adds parts `first` and following; `row` and `lse` go on to the part behind them. `whole`: every
/// chunk is one aligned load; with a choice at each load the compiler puts branches between them,
/// and fewer are under way. One whose LSE is -inf has seen no key and counts for nothing, whatever
/// it left as output; NaN goes through.
template <DType type, int at_once, bool whole>
__device__ __forceinline__ void add_parts(const Params& p, int first, const char*& row,
                                          const float*& lse, int chunk, Sums<chunk_of<type>>& s) {
    constexpr int elements = chunk_of<type>;
    uint4 x[at_once];
    float its[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
        const bool there = first + i < p.parts;
        its[i] = there ? __ldg(lse) : -INFINITY;
        x[i] = there ? gpu::load_chunk<type>(row, chunk, p.call.headdim, whole)
                     : make_uint4(0, 0, 0, 0);
        row += p.to_next_part;
        lse += p.call.of_lse_parts.part;
    }
    float highest = s.base;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
        highest = fmaxf(highest, its[i]);
    }
    const float keep =
        s.base == -INFINITY ? 1.0F : ptx::ex2_approx_ftz_f32((s.base - highest) * log2_e);
    s.base = highest;
    s.sum *= keep;
#pragma unroll
    for (int e = 0; e < elements; ++e) {
        s.out[e] *= keep;
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
        if (its[i] != -INFINITY) {
            const float weight = ptx::ex2_approx_ftz_f32((its[i] - highest) * log2_e);
            float columns[elements];
            gpu::widen<type>(x[i], columns);
            s.sum += weight;
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                s.out[e] = fmaf(weight, columns[e], s.out[e]);
            }
        }
    }
}

template <DType type, DType out_type, int at_once, bool whole>
__global__ void __launch_bounds__(most_threads, residents(at_once))
    combine(const __grid_constant__ Params p) {
    constexpr int elements = chunk_of<type>;
    const auto in_cta = static_cast<std::int32_t>(threadIdx.x) >> p.lanes_shift;
    const std::int64_t at =
        static_cast<std::int64_t>(blockIdx.x) * (blockDim.x >> p.lanes_shift) + in_cta;
    if (at >= p.rows) {
        return;
    }
    const CombineCall& c = p.call;
    const auto row = static_cast<std::int32_t>(at);
    const std::int32_t token = p.by_heads.divide(row);
    const std::int64_t head = row - token * c.heads;
    const auto* parts = static_cast<const char*>(c.out_parts) +
                        (token * c.of_out_parts.row + head * c.of_out_parts.head) * width_of<type>;
    const float* lse = c.lse_parts + token * c.of_lse_parts.row + head * c.of_lse_parts.head;
    auto* out = static_cast<char*>(c.out) +
                (token * c.of_out.row + head * c.of_out.head) * width_of<out_type>;
    for (auto chunk = static_cast<std::int32_t>(threadIdx.x) & (p.lanes - 1); chunk < p.chunks;
         chunk += p.lanes) {
        Sums<elements> s{};
        s.base = c.sinks != nullptr ? c.sinks[head] : -INFINITY;
        s.sum = s.base == -INFINITY ? 0.0F : 1.0F;
        const char* its_row = parts;
        const float* its_lse = lse;
#pragma unroll 1
        for (int first = 0; first < p.parts; first += at_once) {
            add_parts<type, at_once, whole>(p, first, its_row, its_lse, chunk, s);
        }
        const float factor = s.sum == 0 ? 0.0F : 1.0F / s.sum;
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            s.out[e] *= factor;
        }
        gpu::store_chunk<out_type>(out, chunk, c.headdim, p.aligned_out, s.out);
        if (chunk == 0 && c.lse != nullptr) {
            c.lse[token * c.of_lse.row + head * c.of_lse.head] =
                s.sum == 0 ? -INFINITY : s.base + log2f(s.sum) * ln_2;
        }
    }
}

bool whole_chunks(const void* data, const CombineStrides& strides, std::int64_t headdim,
                  std::int64_t elements, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && headdim % elements == 0 &&
           strides.part % elements == 0 && strides.row % elements == 0 &&
           strides.head % elements == 0;
}

template <DType type, DType out_type, bool whole>
void launch_types(const Params& p, const Tile& tile, void* stream) {
    const std::int32_t rows_of_cta = tile.threads / p.lanes;
    const LaunchShape shape{dim3(static_cast<unsigned>((p.rows - 1) / rows_of_cta + 1)),
                            tile.threads, 0, stream};
    enqueue(
        "combine_cuda",
        tile.at_once == 4 ? combine<type, out_type, 4, whole> : combine<type, out_type, 8, whole>,
        shape, p);
}

template <DType type, bool whole>
void launch_type(const Params& p, const Tile& tile, void* stream) {
    with_dtype(p.call.out_dtype,
               [&](auto out_type) { launch_types<type, out_type(), whole>(p, tile, stream); });
}

template <bool whole>
void launch_loads(const Params& p, const Tile& tile, void* stream) {
    with_dtype(p.call.parts_dtype, [&](auto type) { launch_type<type(), whole>(p, tile, stream); });
}

}  // namespace

void launch(const OperationArgs& args, int tile, const Device& /*device*/, void* /*workspace*/,
            void* stream) {
    Params p{};
    p.call = combine_call_of(args);
    const CombineCall& c = p.call;
    if (c.rows == 0 || c.heads == 0 || c.headdim == 0) {
        return;
    }
    const std::int64_t bytes = c.parts_dtype == DType::fp32 ? 4 : 2;
    const std::int64_t elements = 16 / bytes;
    p.to_next_part = c.of_out_parts.part * bytes;
    p.by_heads = schedule::Divider(static_cast<std::int32_t>(c.heads));
    p.parts = static_cast<std::int32_t>(c.parts);
    p.rows = static_cast<std::int32_t>(c.rows * c.heads);
    p.chunks = static_cast<std::int32_t>(chunks_of(c.headdim, bytes));
    p.lanes = lanes_of(p.chunks);
    while ((1 << p.lanes_shift) < p.lanes) {
        ++p.lanes_shift;
    }
    const std::uintptr_t stored = elements * (c.out_dtype == DType::fp32 ? 4 : 2);
    p.aligned_out = whole_chunks(c.out, c.of_out, c.headdim, elements, stored < 16 ? stored : 16);
    const Tile& shape = tile_list.at(static_cast<std::size_t>(tile));
    whole_chunks(c.out_parts, c.of_out_parts, c.headdim, elements, 16)
        ? launch_loads<true>(p, shape, stream)
        : launch_loads<false>(p, shape, stream);
}

}  // namespace raceline::kernels::combine_cuda
