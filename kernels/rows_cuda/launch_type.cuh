// SPDX-License-Identifier: Apache-2.0
// The launch of one type's chains: each type is compiled by itself (rows_bf16.cu and its siblings).
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/rows_cuda/held_rows.cuh"
#include "kernels/rows_cuda/kept_rows.cuh"
#include "kernels/rows_cuda/raw_rows.cuh"
#include "kernels/rows_cuda/read_flat.cuh"
#include "kernels/rows_cuda/read_rows.cuh"
#include "kernels/rows_cuda/staged_rows.cuh"
#include "kernels/rows_cuda/step_rows.cuh"
#include "registry/enqueue.cuh"
#include "registry/enqueue_clusters.cuh"

namespace raceline::kernels::rows_cuda {

inline StepParams step_params(const Params& p) {
    StepParams steps{p, phrases_of(p.program), p.program.result, 0,
                     1.0F / static_cast<float>(p.layout.width)};
    for (const RowInstruction& its : p.program.steps()) {
        steps.matrices |= takes_matrix(its.op) ? 1U << its.tensor : 0U;
    }
    return steps;
}

/// Of a chain that no code knows: on rows that lie in the lanes of a tile, or wider ones.
template <DType type, int index, Access access>
void launch_steps(const Params& p, int units, void* stream) {
    constexpr Tile tile = tile_list[index];
    if constexpr (steps_through_rows(tile, access)) {
        if constexpr (reads_wide_rows(tile)) {
            if (p.layout.segments > 1 && has_reductions(p.program)) {
                const auto ctas = static_cast<unsigned>(ctas_reading(p.layout, tile, units));
                enqueue("rows_cuda", read_rows<type, index, access>,
                        LaunchShape{dim3(ctas), tile.threads, 0, stream}, p);
                return;
            }
        }
        const auto ctas = static_cast<unsigned>(held_ctas_of(p.layout, tile));
        enqueue("rows_cuda", step_rows<type, index, access>,
                LaunchShape{dim3(ctas), tile.threads, 0, stream}, step_params(p));
    }
}

/// Of any chain but those with rope, on rows that a thread holds.
template <DType type, int index>
void launch_staged(const Params& p, void* stream) {
    constexpr Tile tile = tile_list[index];
    StagedParams staged{step_params(p), {}, 1};
    for (int tensor = 1; tensor < OperationArgs::most; ++tensor) {
        if ((staged.matrices >> tensor & 1) != 0) {
            staged.place[tensor] = staged.places++;
        }
    }
    const std::int64_t bytes =
        tile.threads / 32 * staged_bytes(p.layout.width, gpu::width_of<type>, staged.places);
    enqueue("rows_cuda", staged_rows<type, index>,
            LaunchShape{dim3(static_cast<unsigned>(ctas_of(p.layout, tile))), tile.threads,
                        static_cast<std::size_t>(bytes), stream},
            staged);
}

template <DType type>
void launch_flat(const Params& p, const Tile& tile, void* stream) {
    const LaunchShape shape{dim3(static_cast<unsigned>(ctas_of(p.layout, tile))), tile.threads, 0,
                            stream};
    if (p.access != Access::lone) {
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
                             static_cast<std::int32_t>(p.layout.segments),
                             p.head,
                             p.eps,
                             {}};
        std::copy_n(p.tensors, std::size(held.tensors), held.tensors);
        const LaunchShape shape{dim3(ctas), tile.threads, 0, stream};
        if constexpr (recomputes_rows(compiled_programs[chain], tile)) {
            enqueue("rows_cuda", raw_rows<type, chain, index>, shape, held);
        } else {
            enqueue("rows_cuda", held_rows<type, chain, index>, shape, held);
        }
    }
}

/// Where CTAs stay and take row after row, as many as run at once. False where the device runs none
/// of so many CTAs, or the code was compiled for one without clusters.
template <DType type, std::size_t chain, bool whole>
bool launch_kept(const Params& p, int units, void* stream) {
    constexpr RowProgram program = compiled_programs[chain];
    if constexpr (can_keep_rows(program)) {
        const int cluster = p.kept.cluster;
        const std::int64_t row = bytes_of_chunks(p.layout.width, gpu::width_of<type>, whole);
        KeptParams<program.result + 1> kept{p.layout.rows, p.layout.width, cluster,
                                            p.eps,         nullptr,        {}};
        std::copy_n(p.tensors, std::size(kept.tensors), kept.tensors);
        LaunchShape shape{dim3(static_cast<unsigned>(cluster)), p.kept.threads,
                          static_cast<std::size_t>(kept_bytes(row, cluster, matrices_of(program))),
                          stream};
        const auto code = p.kept.threads == kept_threads[0]
                              ? kept_rows<type, chain, kept_threads[0], whole>
                              : kept_rows<type, chain, kept_threads[1], whole>;
        const std::int64_t at_once = cluster == 1
                                         ? std::int64_t{units} * p.kept.residents
                                         : most_clusters("rows_cuda", code, shape, cluster);
        shape.grid.x *=
            static_cast<unsigned>(p.kept.stays ? std::min(p.layout.rows, at_once) : p.layout.rows);
        if (at_once == 0) {
            return false;
        }
        if (p.handed_out != nullptr && p.layout.rows > least_handed_out * at_once) {
            kept.handed_out = p.handed_out;
            check_cuda(cudaMemsetAsync(kept.handed_out, 0, sizeof(*kept.handed_out),
                                       static_cast<cudaStream_t>(stream)),
                       "rows_cuda: clearing a counter");
        }
        if (cluster == 1) {
            enqueue("rows_cuda", code, shape, kept);
        } else {
            enqueue_in_clusters("rows_cuda", code, shape, cluster, kept);
        }
        return true;
    } else {
        return false;
    }
}

template <DType type, int index, std::size_t... chain>
void launch_tile(const Params& p, int units, void* stream, std::index_sequence<chain...>) {
    if constexpr (is_staged(tile_list[index])) {
        launch_staged<type, index>(p, stream);
        return;
    }
    const std::size_t known = compiled_index(p.program);
    if constexpr (index == wide_rows_index) {
        const bool kept =
            p.kept.cluster > 0 &&
            (p.access == Access::whole
                 ? ((chain == known && launch_kept<type, chain, true>(p, units, stream)) || ...)
                 : ((chain == known && launch_kept<type, chain, false>(p, units, stream)) || ...));
        if (kept) {
            return;
        }
    }
    if (known == sizeof...(chain) || p.access != Access::whole ||
        !has_code(p.program, type, tile_list[index]) ||
        (p.layout.segments > 1 && !deals_out_segments(p.program))) {
        if (!knows_rows(p.program)) {
            launch_flat<type>(p, tile_list[index], stream);
        } else if (p.access == Access::whole) {
            launch_steps<type, index, Access::whole>(p, units, stream);
        } else if (p.access == Access::shifted) {
            launch_steps<type, index, Access::shifted>(p, units, stream);
        } else {
            launch_steps<type, index, Access::lone>(p, units, stream);
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
