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
    schedule::Divider by_segments;
    std::int32_t parts, rows;    ///< rows: times heads
    std::int32_t chunks, lanes;  ///< of 16 bytes of a row; threads that share one, a power of two
    std::int32_t lanes_shift, segments;
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

/// A chunk of a part, in loads of so many bytes; zeros behind the `left` bytes to the row's end,
/// and of no part. No load hangs on a branch: with one the compiler has fewer under way.
template <int piece>
__device__ __forceinline__ uint4 load_pieces(const char* chunk, int left, bool there) {
    if constexpr (piece == 16) {
        return there ? __ldg(reinterpret_cast<const uint4*>(chunk)) : make_uint4(0, 0, 0, 0);
    }
    std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 16 / piece; ++i) {
        const bool inside = there && piece * i < left;
        const char* at = chunk + piece * i;
        if constexpr (piece == 4) {
            words[i] = inside ? __ldg(reinterpret_cast<const std::uint32_t*>(at)) : 0;
        } else {
            const std::uint32_t half =
                inside ? __ldg(reinterpret_cast<const std::uint16_t*>(at)) : 0;
            words[i / 2] |= half << (16 * (i % 2));
        }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Adds parts `first` and following; `chunk` and `lse` go on to the part behind them. One whose LSE
/// is -inf has seen no key and counts for nothing, whatever it left as output; NaN goes through.
template <DType type, int at_once, int piece>
__device__ __forceinline__ void add_parts(const Params& p, int first, const char*& chunk, int left,
                                          const float*& lse, Sums<chunk_of<type>>& s) {
    constexpr int elements = chunk_of<type>;
    uint4 x[at_once];
    float its[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
        const bool there = first + i < p.parts;
        its[i] = there ? __ldg(lse) : -INFINITY;
        x[i] = load_pieces<piece>(chunk, left, there);
        chunk += p.to_next_part;
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

template <DType type, DType out_type, int at_once, int piece>
__global__ void __launch_bounds__(most_threads, residents(at_once, piece))
    combine(const __grid_constant__ Params p) {
    constexpr int elements = chunk_of<type>;
    const auto cta = static_cast<std::int32_t>(blockIdx.x);
    const std::int32_t group = p.by_segments.divide(cta);
    const auto in_cta = static_cast<std::int32_t>(threadIdx.x) >> p.lanes_shift;
    const std::int64_t at =
        static_cast<std::int64_t>(group) * (blockDim.x >> p.lanes_shift) + in_cta;
    const std::int32_t chunk = (cta - group * p.segments) * p.lanes +
                               (static_cast<std::int32_t>(threadIdx.x) & (p.lanes - 1));
    if (at >= p.rows || chunk >= p.chunks) {
        return;
    }
    const CombineCall& c = p.call;
    const auto row = static_cast<std::int32_t>(at);
    const std::int32_t token = p.by_heads.divide(row);
    const std::int64_t head = row - token * c.heads;
    const std::int64_t in_row = 16 * static_cast<std::int64_t>(chunk);
    const auto left = static_cast<int>(min(c.headdim * width_of<type> - in_row, std::int64_t{16}));
    const auto* parts = static_cast<const char*>(c.out_parts) +
                        (token * c.of_out_parts.row + head * c.of_out_parts.head) * width_of<type> +
                        in_row;
    const float* lse = c.lse_parts + token * c.of_lse_parts.row + head * c.of_lse_parts.head;
    auto* out = static_cast<char*>(c.out) +
                (token * c.of_out.row + head * c.of_out.head) * width_of<out_type>;
    Sums<elements> s{};
    s.base = c.sinks != nullptr ? c.sinks[head] : -INFINITY;
    s.sum = s.base == -INFINITY ? 0.0F : 1.0F;
#pragma unroll 1
    for (int first = 0; first < p.parts; first += at_once) {
        add_parts<type, at_once, piece>(p, first, parts, left, lse, s);
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

bool whole_chunks(const void* data, const CombineStrides& strides, std::int64_t headdim,
                  std::int64_t elements, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && headdim % elements == 0 &&
           strides.part % elements == 0 && strides.row % elements == 0 &&
           strides.head % elements == 0;
}

template <DType type, DType out_type, int piece>
void launch_types(const Params& p, const Tile& tile, void* stream) {
    const std::int32_t rows_of_cta = tile.threads / p.lanes;
    const auto groups = static_cast<unsigned>((p.rows - 1) / rows_of_cta + 1);
    const LaunchShape shape{dim3(groups * static_cast<unsigned>(p.segments)), tile.threads, 0,
                            stream};
    enqueue(
        "combine_cuda",
        tile.at_once == 4 ? combine<type, out_type, 4, piece> : combine<type, out_type, 8, piece>,
        shape, p);
}

template <DType type, int piece>
void launch_pieces(const Params& p, const Tile& tile, void* stream) {
    with_dtype(p.call.out_dtype,
               [&](auto out_type) { launch_types<type, out_type(), piece>(p, tile, stream); });
}

/// In the largest pieces that all rows of all parts consist of.
template <DType type>
void launch_type(const Params& p, const Tile& tile, void* stream) {
    const CombineCall& c = p.call;
    const auto consist_of = [&](int bytes) {
        return whole_chunks(c.out_parts, c.of_out_parts, c.headdim, bytes / width_of<type>,
                            static_cast<std::uintptr_t>(bytes));
    };
    if (consist_of(16)) {
        launch_pieces<type, 16>(p, tile, stream);
    } else if (consist_of(4)) {
        launch_pieces<type, 4>(p, tile, stream);
    } else {
        launch_pieces<type, width_of<type>>(p, tile, stream);
    }
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
    p.segments = segments_of(p.chunks);
    p.by_segments = schedule::Divider(p.segments);
    while ((1 << p.lanes_shift) < p.lanes) {
        ++p.lanes_shift;
    }
    const std::uintptr_t stored = elements * (c.out_dtype == DType::fp32 ? 4 : 2);
    p.aligned_out = whole_chunks(c.out, c.of_out, c.headdim, elements, stored < 16 ? stored : 16);
    const Tile& shape = tile_list.at(static_cast<std::size_t>(tile));
    with_dtype(c.parts_dtype, [&](auto type) { launch_type<type()>(p, shape, stream); });
}

}  // namespace raceline::kernels::combine_cuda
