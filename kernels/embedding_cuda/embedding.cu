// SPDX-License-Identifier: Apache-2.0
// Threads copy units of the output's rows; which row of the table a unit comes from, its index
// says.
#include <cstdint>

#include "kernels/embedding_cuda/tile.hpp"
#include "registry/enqueue.cuh"

namespace raceline::kernels::embedding_cuda {
namespace {

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
    std::int64_t unit = unit_of(row_bytes);
    while ((reinterpret_cast<std::uintptr_t>(p.table) | reinterpret_cast<std::uintptr_t>(p.out)) %
               static_cast<std::uintptr_t>(unit) !=
           0) {
        unit /= 2;
    }
    const std::int64_t tokens = args.extents[0];
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
