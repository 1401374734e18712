// SPDX-License-Identifier: Apache-2.0
// A row lies in the registers of a warp or a CTA while the program's steps go over it; only
// operands and results touch memory. Every thread reads the program from constant memory and all
// take the same way. A row that is too wide is read again in pieces for each reduction.
#include <cstdint>

#include "device/device.hpp"
#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "gpu/tile/chunk.cuh"
#include "kernels/rows_cuda/tile.hpp"
#include "registry/enqueue.cuh"

namespace raceline::kernels::rows_cuda {
namespace {

struct Params {
    RowProgram program;
    char* tensors[OperationArgs::most];
    RowLayout layout;
    std::int32_t head;             ///< columns that rope turns together
    std::int32_t first_reduction;  ///< number of the first reduction, or of the end
    std::int32_t early;            ///< a matrix whose chunks are asked for with the row's; 0: none
    float eps;
    bool aligned;  ///< rows of all tensors begin at multiples of 16 bytes
};

constexpr unsigned all_lanes = 0xFFFFFFFFU;

/// Larger of two, NaN if either is.
struct Largest {
    __device__ __forceinline__ float operator()(float a, float b) const {
        return a > b || a != a ? a : b;
    }
};
struct Sum {
    __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

/// Over all lanes of a row; each gets the result. `partial`: two rows of 32 floats in shared
/// memory, used in turn, so that one barrier a reduction is enough.
template <int lanes, class Operator>
__device__ __forceinline__ float over_row(float mine, Operator op, float* partial, int turn) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        mine = op(mine, __shfl_xor_sync(all_lanes, mine, apart));
    }
    if constexpr (lanes > 32) {
        constexpr int warps = lanes / 32;
        float* row = partial + 32 * (turn & 1);
        const unsigned lane = threadIdx.x % 32;
        if (lane == 0) {
            row[threadIdx.x / 32] = mine;
        }
        __syncthreads();
        mine = row[lane % warps];
#pragma unroll
        for (int apart = warps / 2; apart > 0; apart /= 2) {
            mine = op(mine, __shfl_xor_sync(all_lanes, mine, apart));
        }
    }
    return mine;
}

/// To fp32's rounding where results are stored in fp32; else far below theirs, and faster.
template <DType type>
__device__ __forceinline__ float exponential(float x) {
    return type == DType::fp32 ? expf(x) : ptx::ex2_approx_ftz_f32(x * log2_e);
}

/// x / (1 + e^-y): with x = y that is silu, with x = 1 the sigmoid.
template <DType type>
__device__ __forceinline__ float over_one_plus(float x, float y) {
    const float sum = 1.0F + exponential<type>(-y);
    return type == DType::fp32 ? x / sum : x * ptx::rcp_approx_ftz_f32(sum);
}

/// A thread's part of a piece of a row, and what it knows of the row.
template <DType type, int lanes, int chunks>
struct Piece {
    static constexpr int per_chunk = gpu::chunk_of<type>;

    const Params& p;
    std::int64_t row;
    std::int64_t first;   ///< element of the row
    std::int32_t in_row;  ///< elements of the row behind `first`
    int lane;             ///< among those that share the row
    float x[chunks][per_chunk];
    uint4 early[chunks];

    /// Where the piece stands in a tensor that has a row of its own for each (`by_row`), or one.
    __device__ __forceinline__ char* at(int tensor, bool by_row) const {
        return p.tensors[tensor] +
               ((by_row ? row * p.layout.width : 0) + first) * gpu::width_of<type>;
    }
    __device__ __forceinline__ int number(int chunk) const { return chunk * lanes + lane; }
    __device__ __forceinline__ bool is_there(int chunk) const {
        return number(chunk) * per_chunk < in_row;
    }

    __device__ __forceinline__ uint4 load_one(int tensor, bool by_row, int c) const {
        return is_there(c) ? gpu::load_chunk<type>(at(tensor, by_row), number(c), in_row, p.aligned)
                           : make_uint4(0, 0, 0, 0);
    }

    __device__ __forceinline__ void load() {
        uint4 raw[chunks];
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = load_one(0, true, c);
        }
        if (p.early != 0) {
#pragma unroll
            for (int c = 0; c < chunks; ++c) {
                early[c] = load_one(p.early, true, c);
            }
        }
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            gpu::widen<type>(raw[c], x[c]);
        }
    }

    __device__ __forceinline__ void store(int tensor) const {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            if (is_there(c)) {
                gpu::store_chunk<type>(at(tensor, true), number(c), in_row, p.aligned, x[c]);
            }
        }
    }

    template <class Function>
    __device__ __forceinline__ void each(const Function& function) {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[c][e] = function(x[c][e]);
            }
        }
    }

    template <class Function>
    __device__ __forceinline__ void with(int tensor, bool by_row, const Function& function) {
        uint4 raw[chunks];
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            raw[c] = by_row && tensor == p.early ? early[c] : load_one(tensor, by_row, c);
        }
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            float operand[per_chunk];
            gpu::widen<type>(raw[c], operand);
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                x[c][e] = function(x[c][e], operand[e]);
            }
        }
    }

    /// Of the elements of the row alone: what stands behind its end does not count.
    template <class Operator, class Function>
    __device__ __forceinline__ float reduced(float start, Operator op,
                                             const Function& function) const {
        float result = start;
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                if (number(c) * per_chunk + e < in_row) {
                    result = op(result, function(x[c][e]));
                }
            }
        }
        return result;
    }

    /// Halves of heads, whose partners lie in other lanes of the warp.
    __device__ __forceinline__ void rope(int tensor) {
        const int half = p.head / 2;
        const int apart = half / per_chunk;
        const auto* angles = reinterpret_cast<const float*>(p.tensors[tensor]) + row * p.head;
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
            const auto column = static_cast<int>((first + number(c) * per_chunk) & (p.head - 1));
            const bool upper = column >= half;
            const float* cosines = angles + (upper ? column - half : column);
#pragma unroll
            for (int e = 0; e < per_chunk; ++e) {
                const float partner = __shfl_xor_sync(all_lanes, x[c][e], apart);
                if (is_there(c)) {
                    const float turned = partner * __ldg(cosines + half + e);
                    x[c][e] = fmaf(x[c][e], __ldg(cosines + e), upper ? turned : -turned);
                }
            }
        }
    }

    __device__ __forceinline__ void step(const RowInstruction& its, float statistic) {
        switch (its.op) {
            case RowOp::relu: each([](float v) { return v < 0.0F ? 0.0F : v; }); break;
            case RowOp::gelu:
                each([](float v) {
                    const float inner = fmaf(static_cast<float>(gelu_k) * v * v, v, v);
                    return over_one_plus<type>(v, 2.0F * static_cast<float>(gelu_c) * inner);
                });
                break;
            case RowOp::silu: each([](float v) { return over_one_plus<type>(v, v); }); break;
            case RowOp::sigmoid: each([](float v) { return over_one_plus<type>(1.0F, v); }); break;
            case RowOp::tanh: each([](float v) { return tanhf(v); }); break;
            case RowOp::exp: each([](float v) { return exponential<type>(v); }); break;
            case RowOp::square: each([](float v) { return v * v; }); break;
            case RowOp::add_matrix:
            case RowOp::add_vector:
                with(its.tensor, its.op == RowOp::add_matrix,
                     [](float v, float o) { return v + o; });
                break;
            case RowOp::sub_matrix:
                with(its.tensor, true, [](float v, float o) { return v - o; });
                break;
            case RowOp::mul_matrix:
            case RowOp::mul_vector:
                with(its.tensor, its.op == RowOp::mul_matrix,
                     [](float v, float o) { return v * o; });
                break;
            case RowOp::add_statistic: each([=](float v) { return v + statistic; }); break;
            case RowOp::mul_statistic: each([=](float v) { return v * statistic; }); break;
            case RowOp::rope: rope(its.tensor); break;
            case RowOp::store: store(its.tensor); break;
            default: break;
        }
    }

    __device__ __forceinline__ float reduce(RowOp op, float so_far) const {
        if (op == RowOp::reduce_max) {
            return reduced(so_far, Largest(), [](float v) { return v; });
        }
        return op == RowOp::reduce_sum ? reduced(so_far, Sum(), [](float v) { return v; })
                                       : reduced(so_far, Sum(), [](float v) { return v * v; });
    }
};

/// One row. `held`: its lanes hold it from the first step to the last.
template <DType type, int lanes, int chunks, bool held>
__device__ __forceinline__ void run_row(const Params& p, std::int64_t row, int lane, float* partial,
                                        float* statistics, int& turn) {
    Piece<type, lanes, chunks> piece{p, row, 0, 0, lane, {}, {}};
    const std::int64_t before = row * p.layout.width;
    const std::int64_t left = p.layout.elements - before;
    const std::int64_t length = left < p.layout.width ? left : p.layout.width;
    constexpr std::int64_t at_once = static_cast<std::int64_t>(lanes) * chunks * piece.per_chunk;
    const RowInstruction* list = p.program.list.data();
    float statistic = 0;
    int from = 0;   // where this pass begins, of a row that is held
    int known = 0;  // reductions that are done
    for (int end = p.first_reduction;;) {
        const bool reduces = end < p.program.size;
        const RowOp op = reduces ? list[end].op : RowOp::store;
        float mine = op == RowOp::reduce_max ? -INFINITY : 0.0F;
        for (std::int64_t first = 0; first < length; first += at_once) {
            if (!held || from == 0) {
                piece.first = first;
                piece.in_row =
                    static_cast<std::int32_t>(length - first < at_once ? length - first : at_once);
                piece.load();
            }
            int done = 0;
            for (int i = held ? from : 0; i < end; ++i) {
                if (is_reduction(list[i].op)) {
                    if constexpr (!held) {
                        statistic = statistics[done++];
                    }
                    continue;
                }
                piece.step(list[i], statistic);
            }
            if (reduces) {
                mine = piece.reduce(op, mine);
            } else {
                piece.store(p.program.result);
            }
        }
        if (!reduces) {
            return;
        }
        mine = op == RowOp::reduce_max ? over_row<lanes>(mine, Largest(), partial, turn)
                                       : over_row<lanes>(mine, Sum(), partial, turn);
        ++turn;
        statistic = finished(list[end].finish, mine, static_cast<float>(length), p.eps);
        if constexpr (!held) {
            statistics[known++] = statistic;  // all lanes of the warp write the same
            __syncwarp();
        }
        from = end + 1;
        do {
            ++end;
        } while (end < p.program.size && !is_reduction(list[end].op));
    }
}

template <DType type, int index, bool held>
__global__ void __launch_bounds__(tile_list[index].threads, residents_of(tile_list[index]))
    rows(const __grid_constant__ Params p) {
    constexpr Tile tile = tile_list[index];
    constexpr int together = tile.threads / tile.lanes;
    __shared__ float partial[64];
    __shared__ float statistics[tile.threads / 32][2 * longest_row_chain];
    const int lane = static_cast<int>(threadIdx.x) % tile.lanes;
    const int group = static_cast<int>(threadIdx.x) / tile.lanes;
    int turn = 0;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * together + group;
         row < p.layout.rows; row += static_cast<std::int64_t>(gridDim.x) * together) {
        run_row<type, tile.lanes, tile.chunks, held>(p, row, lane, partial,
                                                     statistics[threadIdx.x / 32], turn);
    }
}

template <DType type, int index>
void launch_tile(const Params& p, unsigned ctas, void* stream) {
    const LaunchShape shape{dim3(ctas), tile_list[index].threads, 0, stream};
    const bool held = p.layout.pieces == 1 || p.first_reduction == p.program.size;
    enqueue("rows_cuda", held ? rows<type, index, true> : rows<type, index, false>, shape, p);
}

template <DType type, int... index>
void launch_type(const Params& p, int tile, unsigned ctas, void* stream,
                 std::integer_sequence<int, index...>) {
    ((tile == index ? launch_tile<type, index>(p, ctas, stream) : void()), ...);
}

}  // namespace

void launch(const OperationArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* stream) {
    const Tile& shape = tile_list.at(static_cast<std::size_t>(tile));
    Params p{};
    p.program = row_program_of(args);
    const std::int64_t bytes = args.dtype == DType::fp32 ? 4 : 2;
    p.layout = layout_of(p.program, args.extents[0], args.extents[1], shape, bytes);
    p.head = static_cast<std::int32_t>(args.extents[2]);
    p.eps = static_cast<float>(args.scalars[0]);
    p.aligned = args.extents[1] * bytes % 16 == 0;
    for (std::int32_t i = 0; i <= p.program.result; ++i) {
        p.tensors[i] = static_cast<char*>(args.tensors.at(static_cast<std::size_t>(i)).data);
        p.aligned = p.aligned && reinterpret_cast<std::uintptr_t>(p.tensors[i]) % 16 == 0;
    }
    p.first_reduction = p.program.size;
    for (std::int32_t i = p.program.size; i-- > 0;) {
        const RowInstruction& step = p.program.list[static_cast<std::size_t>(i)];
        const bool matrix = step.op >= RowOp::add_matrix && step.op <= RowOp::mul_matrix;
        p.first_reduction = is_reduction(step.op) ? i : p.first_reduction;
        p.early = matrix ? step.tensor : p.early;
    }
    const unsigned ctas =
        static_cast<unsigned>(ctas_of(p.layout, shape, std::max(1, device.units)));
    constexpr auto indices = std::make_integer_sequence<int, static_cast<int>(tile_list.size())>();
    switch (args.dtype) {
        case DType::fp16: launch_type<DType::fp16>(p, tile, ctas, stream, indices); break;
        case DType::bf16: launch_type<DType::bf16>(p, tile, ctas, stream, indices); break;
        default: launch_type<DType::fp32>(p, tile, ctas, stream, indices); break;
    }
}

}  // namespace raceline::kernels::rows_cuda
