// SPDX-License-Identifier: Apache-2.0
// The launch of one type's chains: each type is compiled by itself (rows_bf16.cu and its siblings).
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/rows_cuda/held_rows.cuh"
#include "kernels/rows_cuda/read_flat.cuh"
#include "kernels/rows_cuda/read_rows.cuh"
#include "registry/enqueue.cuh"

namespace raceline::kernels::rows_cuda {

template <DType type, int index, bool aligned>
void launch_read(const Params& p, int units, void* stream) {
    constexpr Tile tile = tile_list[index];
    if constexpr (reads_any_chain(tile)) {
        const auto ctas = static_cast<unsigned>(ctas_reading(p.layout, tile, units));
        const LaunchShape shape{dim3(ctas), tile.threads, 0, stream};
        if constexpr (reads_wide_rows(tile)) {
            if (p.layout.pieces > 1 && p.first_reduction < p.program.size) {
                enqueue("rows_cuda", read_rows<type, index, false, aligned>, shape, p);
                return;
            }
        }
        enqueue("rows_cuda", read_rows<type, index, true, aligned>, shape, p);
    }
}

template <DType type>
void launch_flat(const Params& p, const Tile& tile, void* stream) {
    const LaunchShape shape{dim3(static_cast<unsigned>(ctas_of(p.layout, tile))), tile.threads, 0,
                            stream};
    if (p.aligned_tensors) {
        enqueue("rows_cuda", read_flat<type, true>, shape, p);
    } else {
        enqueue("rows_cuda", read_flat<type, false>, shape, p);
    }
}

template <DType type, int index, std::size_t chain>
void launch_held(const Params& p, void* stream) {
    constexpr Tile tile = tile_list[index];
    if constexpr (has_code(compiled_programs[chain], type, tile)) {
        const auto ctas = static_cast<unsigned>(held_ctas_of(p.layout, tile));
        ParamsOf<chain> held{p.layout.rows,
                             p.layout.width,
                             p.layout.elements,
                             static_cast<std::int32_t>(p.layout.pieces),
                             p.head,
                             p.eps,
                             {}};
        std::copy_n(p.tensors, std::size(held.tensors), held.tensors);
        enqueue("rows_cuda", held_rows<type, chain, index>,
                LaunchShape{dim3(ctas), tile.threads, 0, stream}, held);
    }
}

template <DType type, int index, std::size_t... chain>
void launch_tile(const Params& p, int units, void* stream, std::index_sequence<chain...>) {
    const std::size_t known = compiled_index(p.program);
    if (known == sizeof...(chain) || !p.aligned || !has_code(p.program, type, tile_list[index]) ||
        (p.layout.pieces > 1 && !deals_out_pieces(p.program))) {
        if (!knows_rows(p.program)) {
            launch_flat<type>(p, tile_list[index], stream);
        } else if (p.aligned) {
            launch_read<type, index, true>(p, units, stream);
        } else {
            launch_read<type, index, false>(p, units, stream);
        }
        return;
    }
    ((chain == known ? launch_held<type, index, chain>(p, stream) : void()), ...);
}

template <DType type, int... index>
void launch_tiles(const Params& p, int tile, int units, void* stream,
                  std::integer_sequence<int, index...>) {
    constexpr auto chains = std::make_index_sequence<compiled_programs.size()>();
    ((tile == index ? launch_tile<type, index>(p, units, stream, chains) : void()), ...);
}

template <DType type>
void launch_type(const Params& p, int tile, int units, void* stream) {
    constexpr auto tiles = std::make_integer_sequence<int, static_cast<int>(tile_list.size())>();
    launch_tiles<type>(p, tile, units, stream, tiles);
}

}  // namespace raceline::kernels::rows_cuda
