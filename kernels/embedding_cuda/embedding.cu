// SPDX-License-Identifier: Apache-2.0
// Threads copy units of the output's rows; which row of the table a unit comes from, its index
// says. Where rows begin inside of chunks of 16 bytes, a thread stores whole chunks of the output
// and joins each from the two of the table that it lies in.
#include <algorithm>
#include <cstdint>

#include "kernels/embedding_cuda/tile.hpp"
#include "registry/enqueue.cuh"

namespace raceline::kernels::embedding_cuda {
namespace {

/// Division by a number that is the same for a whole launch: the upper half of a product.
struct Divisor {
    std::int64_t divisor;
    std::uint64_t inverse;  ///< 2^64 / divisor, and 1

    static Divisor of(std::int64_t divisor) {
        return {divisor, ~std::uint64_t{0} / static_cast<std::uint64_t>(divisor) + 1};
    }
    /// Whether every number up to `most` is divided rightly: those below 2^64 / divisor are.
    [[nodiscard]] bool serves(std::int64_t most) const {
        return divisor > 1 && static_cast<std::uint64_t>(most) < inverse - 1;
    }
    [[nodiscard]] __device__ __forceinline__ std::int64_t quotient(std::int64_t number) const {
        return static_cast<std::int64_t>(__umul64hi(static_cast<std::uint64_t>(number), inverse));
    }
};

struct Params {
    const char* table;
    const std::int32_t* ids;
    char* out;
    std::int64_t units;  ///< of the output
    std::int64_t of_row;
};

template <class Unit, int at_once>
__global__ void __launch_bounds__(256, resident_threads / 256)
    gather(const __grid_constant__ Params p) {
    const std::int64_t first =
        static_cast<std::int64_t>(blockIdx.x) * blockDim.x * at_once + threadIdx.x;
    Unit units[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
        const std::int64_t at = first + static_cast<std::int64_t>(i) * blockDim.x;
        if (at < p.units) {
            const std::int64_t token = at / p.of_row;
            const std::int64_t from = __ldg(p.ids + token) * p.of_row + (at - token * p.of_row);
            units[i] = __ldg(reinterpret_cast<const Unit*>(p.table) + from);
        }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
        const std::int64_t at = first + static_cast<std::int64_t>(i) * blockDim.x;
        if (at < p.units) {
            reinterpret_cast<Unit*>(p.out)[at] = units[i];
        }
    }
}

struct JoinParams {
    const char* table;
    const std::int32_t* ids;
    char* out;
    std::int64_t row_bytes, table_bytes, out_bytes;
    Divisor rows;  ///< by row_bytes
};

/// The 16 bytes that begin `shift` bytes after the first of two chunks does.
__device__ __forceinline__ uint4 joined(uint4 before, uint4 after, int shift) {
    const std::uint32_t words[8] = {before.x, before.y, before.z, before.w,
                                    after.x,  after.y,  after.z,  after.w};
    std::uint32_t even[6], ours[5];
#pragma unroll
    for (int w = 0; w < 6; ++w) {
        even[w] = (shift & 8) != 0 ? words[w + 2] : words[w];
    }
#pragma unroll
    for (int w = 0; w < 5; ++w) {
        ours[w] = (shift & 4) != 0 ? even[w + 1] : even[w];
    }
    std::uint32_t result[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        const std::uint64_t two = static_cast<std::uint64_t>(ours[w + 1]) << 32 | ours[w];
        result[w] = static_cast<std::uint32_t>(two >> (8 * (shift & 3)));
    }
    return make_uint4(result[0], result[1], result[2], result[3]);
}

/// Of the output's chunk at byte `at`: of rows as wide as these it has elements of two at most.
/// Unit by unit, where what it is joined from would begin before the table or end behind it, and of
/// the last chunk, which may be shorter.
template <class Unit>
__device__ __forceinline__ void copy_units(const JoinParams& p, std::int64_t at) {
    std::int64_t token = at / p.row_bytes;
    std::int64_t column = at - token * p.row_bytes;
    for (std::int64_t byte = at; byte < at + chunk_bytes && byte < p.out_bytes;
         byte += sizeof(Unit)) {
        const std::int64_t from = __ldg(p.ids + token) * p.row_bytes + column;
        *reinterpret_cast<Unit*>(p.out + byte) =
            __ldg(reinterpret_cast<const Unit*>(p.table + from));
        column += sizeof(Unit);
        if (column == p.row_bytes) {
            column = 0;
            ++token;
        }
    }
}

/// 16 bytes of the table that begin anywhere.
struct Joint {
    uint4 before, after;
    int shift;

    /// False, and nothing loaded, where one of the two chunks is not all in the table.
    __device__ __forceinline__ bool load(const JoinParams& p, std::int64_t from) {
        shift = static_cast<int>(from & (chunk_bytes - 1));
        const std::int64_t chunk = from - shift;
        if (chunk < 0 || chunk + 2 * chunk_bytes > p.table_bytes) {
            return false;
        }
        const auto* two = reinterpret_cast<const uint4*>(p.table + chunk);
        before = __ldg(two);
        after = shift > 0 ? __ldg(two + 1) : make_uint4(0, 0, 0, 0);
        return true;
    }
    [[nodiscard]] __device__ __forceinline__ uint4 result() const {
        return joined(before, after, shift);
    }
};

/// The first `count` bytes of one chunk, and the others of another.
__device__ __forceinline__ uint4 mixed(uint4 first, uint4 second, int count) {
    const auto word = [count](std::uint32_t a, std::uint32_t b, int at) {
        const int bits = 8 * (count - 4 * at);
        const std::uint32_t mask = bits <= 0 ? 0U : bits >= 32 ? 0xFFFFFFFFU : (1U << bits) - 1;
        return (a & mask) | (b & ~mask);
    };
    return make_uint4(word(first.x, second.x, 0), word(first.y, second.y, 1),
                      word(first.z, second.z, 2), word(first.w, second.w, 3));
}

/// A chunk of the output as it comes: from one row, or the end of one and the begin of the next.
struct Arriving {
    Joint row, next;
    int of_row;  ///< bytes; 0: there is nothing to store

    template <class Unit>
    __device__ __forceinline__ void load(const JoinParams& p, std::int64_t at) {
        of_row = 0;
        if (at >= p.out_bytes) {
            return;
        }
        const std::int64_t token = p.rows.quotient(at);
        const std::int64_t column = at - token * p.row_bytes;
        const std::int64_t left = p.row_bytes - column;
        bool loads = at + chunk_bytes <= p.out_bytes &&
                     row.load(p, __ldg(p.ids + token) * p.row_bytes + column);
        if (loads && left < chunk_bytes) {
            loads = next.load(p, __ldg(p.ids + token + 1) * p.row_bytes - left);
        }
        if (loads) {
            of_row = static_cast<int>(left < chunk_bytes ? left : chunk_bytes);
        } else {
            copy_units<Unit>(p, at);
        }
    }
    __device__ __forceinline__ void store(const JoinParams& p, std::int64_t at) const {
        if (of_row > 0) {
            const uint4 first = row.result();
            *reinterpret_cast<uint4*>(p.out + at) =
                of_row < chunk_bytes ? mixed(first, next.result(), of_row) : first;
        }
    }
};

template <class Unit, int at_once>
__global__ void __launch_bounds__(256, resident_threads_joining / 256)
    gather_joined(const __grid_constant__ JoinParams p) {
    // Registers have room for no more.
    constexpr int together = at_once < 2 || sizeof(Unit) == 1 ? 1 : 2;
    const std::int64_t apart = blockDim.x * chunk_bytes;
    std::int64_t at =
        static_cast<std::int64_t>(blockIdx.x) * at_once * apart + threadIdx.x * chunk_bytes;
#pragma unroll 1
    for (int i = 0; i < at_once; i += together, at += together * apart) {
        Arriving chunks[together];
#pragma unroll
        for (int c = 0; c < together; ++c) {
            chunks[c].template load<Unit>(p, at + c * apart);
        }
#pragma unroll
        for (int c = 0; c < together; ++c) {
            chunks[c].store(p, at + c * apart);
        }
    }
}

template <class Unit>
void launch_joined(const JoinParams& p, const Tile& tile, const LaunchShape& shape) {
    enqueue("embedding_cuda", tile.at_once == 4 ? gather_joined<Unit, 4> : gather_joined<Unit, 1>,
            shape, p);
}

template <class Unit>
void launch_units(const Params& p, const Tile& tile, const LaunchShape& shape) {
    enqueue("embedding_cuda", tile.at_once == 4 ? gather<Unit, 4> : gather<Unit, 1>, shape, p);
}

}  // namespace

void launch(const OperationArgs& args, int tile, const Device& /*device*/, void* /*workspace*/,
            void* stream) {
    const Tile& its = tile_list.at(static_cast<std::size_t>(tile));
    const OperationTensor& table = args.tensors[0];
    const std::int64_t row_bytes = table.width * (table.dtype == DType::fp32   ? 4
                                                  : table.dtype == DType::e4m3 ? 1
                                                                               : 2);
    Params p{static_cast<const char*>(table.data),
             static_cast<const std::int32_t*>(args.tensors[1].data),
             static_cast<char*>(args.tensors[2].data), 0, 0};
    const std::uintptr_t places =
        reinterpret_cast<std::uintptr_t>(p.table) | reinterpret_cast<std::uintptr_t>(p.out);
    std::int64_t unit = unit_of(row_bytes);
    const std::int64_t tokens = args.extents[0];
    const Divisor rows = Divisor::of(std::max<std::int64_t>(1, row_bytes));
    if (joins_chunks(row_bytes) && places % chunk_bytes == 0 && rows.serves(tokens * row_bytes)) {
        const JoinParams joined{
            p.table, p.ids, p.out, row_bytes, table.rows * row_bytes, tokens * row_bytes, rows};
        const LaunchShape shape{dim3(static_cast<unsigned>(ctas_of(tokens, row_bytes, its))),
                                its.threads, 0, stream};
        switch (unit) {
            case 8: return launch_joined<uint2>(joined, its, shape);
            case 4: return launch_joined<std::uint32_t>(joined, its, shape);
            case 2: return launch_joined<std::uint16_t>(joined, its, shape);
            default: return launch_joined<std::uint8_t>(joined, its, shape);
        }
    }
    while (places % static_cast<std::uintptr_t>(unit) != 0) {
        unit /= 2;
    }
    p.of_row = row_bytes / unit;
    p.units = tokens * p.of_row;
    const std::int64_t together = std::int64_t{its.threads} * its.at_once;
    const LaunchShape shape{dim3(static_cast<unsigned>(divide_up(p.units, together))), its.threads,
                            0, stream};
    switch (unit) {
        case 16: launch_units<uint4>(p, its, shape); break;
        case 8: launch_units<uint2>(p, its, shape); break;
        case 4: launch_units<std::uint32_t>(p, its, shape); break;
        case 2: launch_units<std::uint16_t>(p, its, shape); break;
        default: launch_units<std::uint8_t>(p, its, shape); break;
    }
}

}  // namespace raceline::kernels::embedding_cuda
