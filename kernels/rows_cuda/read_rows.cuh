// SPDX-License-Identifier: Apache-2.0
// Rows that are wider than their lanes hold, of any chain that reduces them, read step by step:
// once for each reduction and once more to the end, a segment at a time. Every thread reads the
// program from constant memory and all take the same way.
#pragma once

#include "kernels/rows_cuda/row_segment.cuh"

namespace raceline::kernels::rows_cuda {

/// One row. The segment that its lanes take next is in `ahead`, and they ask for the one behind it:
/// it comes while the steps go over this one.
template <class Part, int chunks>
__device__ __forceinline__ void run_row(Part& segment, const Params& p, std::int64_t row,
                                        std::int64_t next_row, float* partial, float* statistics,
                                        int& turn, uint4 (&ahead)[chunks]) {
    const RowInstruction* list = p.program.list.data();
    int known = 0;  // reductions that are done
    for (int end = p.first_reduction;;) {
        const bool reduces = end < p.program.size;
        const RowOp op = reduces ? list[end].op : RowOp::store;
        float mine = start_of(op);
        segment.move(row, 0);
        const std::int64_t walked = p.layout.width + segment.shift;
        for (std::int64_t first = 0; first < walked; first += Part::at_once) {
            segment.take(ahead);
            if (first + Part::at_once < walked) {
                segment.move(row, first + Part::at_once);
            } else {
                segment.move(reduces ? row : next_row, 0);
            }
            segment.load(0, true, ahead);
            segment.move(row, first);
            float statistic = 0;
            int done = 0;
            for (int i = 0; i < end; ++i) {
                if (is_reduction(list[i].op)) {
                    statistic = statistics[done++];
                    continue;
                }
                take_step(segment, list[i], statistic);
            }
            if (reduces) {
                mine = segment.reduce(op, mine);
            } else {
                segment.store(p.program.result);
            }
        }
        if (!reduces) {
            return;
        }
        mine = op == RowOp::reduce_max ? over_row<Part::of_row>(mine, Largest(), partial, turn)
                                       : over_row<Part::of_row>(mine, Sum(), partial, turn);
        ++turn;
        // All lanes of the warp write the same.
        statistics[known++] =
            finished(list[end].finish, mine, static_cast<float>(p.layout.width), p.eps);
        __syncwarp();
        do {
            ++end;
        } while (end < p.program.size && !is_reduction(list[end].op));
    }
}

template <DType type, int index, Access access>
__global__ void __launch_bounds__(tile_list[index].threads, residents_reading(tile_list[index]))
    read_rows(const __grid_constant__ Params p) {
    constexpr Tile tile = tile_list[index];
    static_assert(tile.threads == tile.lanes);
    __shared__ float partial[64];
    __shared__ float statistics[tile.threads / 32][2 * longest_row_chain];
    uint4 ahead[tile.chunks];
    Segment<type, tile.lanes, tile.chunks, access> segment{
        p, static_cast<int>(threadIdx.x), 0, 0, 0, 0, 0, {}};
    segment.move(blockIdx.x, 0);
    segment.load(0, true, ahead);
    int turn = 0;
    for (std::int64_t row = blockIdx.x; row < p.layout.rows; row += gridDim.x) {
        run_row(segment, p, row, row + gridDim.x, partial, statistics[threadIdx.x / 32], turn,
                ahead);
    }
}

}  // namespace raceline::kernels::rows_cuda
