// SPDX-License-Identifier: Apache-2.0
// The end of a tile of rows: division by the row's sum, LSE, and outputs. They leave by way of
// shared memory where there is room: a matrix warpgroup puts its rows there and goes on with the
// next work tile, and a warp of the producer's warpgroup has the copy engine store them. Else they
// go straight from the accumulators, so that the next copies and products need not wait for shared
// memory.
#pragma once

#include "gpu/ptx/cp_async_bulk.cuh"
#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/ld_shared_u32.cuh"
#include "gpu/ptx/special_register.cuh"
#include "gpu/ptx/st_global_v4_u32.cuh"
#include "gpu/ptx/stmatrix.cuh"
#include "kernels/prefill_sm90/f16_softmax.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"
#include "kernels/prefill_sm90/row_softmax.cuh"

namespace raceline::kernels::prefill_sm90 {

using namespace hopper;

/// Stores the LSE of a thread's rows. `factor`: what their outputs must be multiplied by.
__device__ __forceinline__ void finish_rows(const Params& p, const OutputRows& end,
                                            const RowState& state, float (&factor)[2]) {
    const AttentionArgs& a = p.args;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
    const RowEnds ends(a, state, end.head, end.v_scale);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = end.first + fragment_row(warp, lane, i);
        if (a.lse != nullptr && row < end.length && lane % 4 == 0) {
            a.lse[end.lse + row * a.lse_seq_stride] = ends.lse[i];
        }
        factor[i] = ends.factor[i];
    }
}

/// Outputs of a thread's rows. They leave in chunks of 16 bytes, or one by one where addresses or
/// head dim do not allow that.
template <Tile tile, bool bf16>
__device__ __forceinline__ void write_rows(const Params& p, const OutputRows& end,
                                           float (&out)[tile.headdim_v / 2],
                                           const float (&factor)[2]) {
    const AttentionArgs& a = p.args;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
    int row[2];
    std::uint16_t* to[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        row[i] = end.first + fragment_row(warp, lane, i);
        to[i] = static_cast<std::uint16_t*>(a.out.data) + end.out + row[i] * a.out.seq_stride;
    }
    if (p.chunked_out) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int four = 0; four < tile.headdim_v / 32; ++four) {
                std::uint32_t x[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int at = fragment_element(4 * four + j, i, 0);
                    x[j] = gpu::packed<bf16>(out[at] * factor[i], out[at + 1] * factor[i]);
                }
                gpu::transpose_quad(
                    x);  // thread t of the quad now has the t-th eight of 32 columns
                const int column = 32 * four + 8 * (lane % 4);
                if (row[i] < end.length && column < a.headdim_v) {
                    ptx::st_global_v4_u32(to[i] + column, make_uint4(x[0], x[1], x[2], x[3]));
                }
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int columns = row[i] < end.length ? a.headdim_v : 0;
#pragma unroll
            for (int j = 0; j < tile.headdim_v / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int column = fragment_column(lane, j, e);
                    const float x = out[fragment_element(j, i, e)] * factor[i];
                    if (column < columns) {
                        to[i][column] = static_cast<std::uint16_t>(gpu::packed<bf16>(x, 0));
                    }
                }
            }
        }
    }
}

/// Puts a warp's outputs into its rows of `buffer`, in the swizzle of the copies.
template <Tile tile, bool bf16>
__device__ __forceinline__ void put_rows(std::uint32_t buffer,
                                         const float (&out)[tile.headdim_v / 2],
                                         const float (&factor)[2]) {
    // Read again, so that no address is kept in registers from work tile to work tile.
    const std::uint32_t thread = ptx::tid_x_volatile();
    const int lane = static_cast<int>(thread % 32);
    const int row = 16 * static_cast<int>(thread / 32 % 4) + lane % 16;
    // Lanes 0 to 15 name the rows of eight columns, the others those of the next eight.
    const std::uint32_t to = buffer + word(swizzled_bytes(row, lane / 16, 64));
    constexpr int steps_per_slab = slab_columns / 16;
#pragma unroll
    for (int step = 0; step < tile.headdim_v / 16; ++step) {
        std::uint32_t x[4];
#pragma unroll
        for (int part = 0; part < 4; ++part) {
            const int i = part % 2;
            const int at = fragment_element(2 * step + part / 2, i, 0);
            x[part] = gpu::packed<bf16>(out[at] * factor[i], out[at + 1] * factor[i]);
        }
        // Of a 16-byte chunk's number the swizzle changes every bit by itself.
        ptx::stmatrix_x4(
            (to ^ word(step % steps_per_slab * 32)) + step / steps_per_slab * (64 * slab_row_bytes),
            x);
    }
    ptx::fence_proxy_async_shared();
}

/// Where the outputs of a warpgroup go.
struct Destination {
    std::int32_t token, head, index;  ///< coordinates of its first row
    std::int32_t rows;                ///< that there are from there on
};

/// What is in `buffer`, by loads and stores. Executed by a whole warp.
template <Tile tile>
__device__ __forceinline__ void store_by_hand(const Params& p, std::uint32_t buffer,
                                              const Destination& d) {
    constexpr int chunks = tile.headdim_v / 8;
    const TensorArg& t = p.args.out;
    auto* const to = static_cast<std::uint16_t*>(t.data) + d.index * t.batch_stride +
                     d.head * t.head_stride + d.token * t.seq_stride;
    const int count = smaller(64, d.rows) * chunks;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < count; i += 32) {
        const int row = i / chunks;
        const int columns = p.args.headdim_v - i % chunks * 8;
        const std::uint32_t from = buffer + word(swizzled_bytes(row, i % chunks, 64));
        std::uint16_t* const at = to + row * t.seq_stride + i % chunks * 8;
        if (p.chunked_out) {
            if (columns > 0) {
                ptx::st_global_v4_u32(at, ptx::ld_shared_v4_u32(from));
            }
        } else {
#pragma unroll 1
            for (int e = 0; e < smaller(8, columns); ++e) {
                const std::uint32_t two = ptx::ld_shared_u32(from + e / 2 * 4);
                at[e] = static_cast<std::uint16_t>(two >> 16 * (e % 2));
            }
        }
    }
}

/// Executed by a whole warp, number `part` of two that share the warpgroups. It reads what is
/// described as soon as anybody, so that the work tile after is described without waiting for
/// outputs.
template <Tile tile>
struct Storer {
    static constexpr int shares = (tile.warpgroups() + 1) / 2;
    const Params& p;
    Shared<tile> s;
    int part;
    Ring<tile.descriptor_slots> descriptor_ring{};
    std::uint32_t written = 0;  ///< of each share, whether the number of its outputs is odd

    /// A work tile's outputs: where those of its first row go, and the shares' rows.
    struct Outputs {
        Destination first;
        std::int32_t rows[shares];  ///< before the share's first one; negative if it has no outputs
        bool there;
    };
    __device__ __forceinline__ Outputs next() {
        const int slot = descriptor_ring.stage();
        ptx::mbarrier_wait_parity(s.descriptor_full(slot), descriptor_ring.parity());
        const uint4 all = ptx::ld_shared_v4_u32(descriptor_row(s, slot, blocks_row));
        const uint4 mask = ptx::ld_shared_v4_u32(descriptor_row(s, slot, mask_row));
        const uint4 tokens = ptx::ld_shared_v4_u32(descriptor_row(s, slot, tokens_row));
        Outputs o{
            {number(tokens.x), number(mask.w), number(tokens.y), number(mask.y) - number(mask.x)},
            {},
            (all.z & tile_exists) != 0};
#pragma unroll
        for (int share = 0; share < shares; ++share) {
            const int warpgroup = smaller(2 * share + part, tile.warpgroups() - 1);
            const uint4 own =
                ptx::ld_shared_v4_u32(descriptor_row(s, slot, tile.descriptor_rows + warpgroup));
            // Without a block of its own a warpgroup writes itself what there is to write.
            const bool none = number(own.x) <= number(all.x) || 2 * share + part != warpgroup;
            o.rows[share] = none ? -1 : number(own.w);
        }
        descriptor_ring.advance();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            ptx::mbarrier_arrive(s.descriptor_empty(descriptor_ring.stage()));
        }
        return o;
    }
    /// Of a packed tensor, a box that reaches past the sequence would overwrite the next one's
    /// rows. Behind the end of any other the copy engine stores nothing.
    __device__ __forceinline__ void store(const Destination& d, std::uint32_t buffer) const {
        if (p.boxed_out && (p.args.cu_seqlens_q == nullptr || d.rows >= 64)) {
            if (threadIdx.x % 32 == 0) {
#pragma unroll
                for (int slab = 0; slab < tile.headdim_v / slab_columns; ++slab) {
                    ptx::cp_async_bulk_tensor_4d_global_shared(
                        &p.out, slab * slab_columns, d.token, d.head, d.index,
                        buffer + slab * (64 * slab_row_bytes));
                }
                ptx::cp_async_bulk_commit_group();
                ptx::cp_async_bulk_wait_group_read<0>();
            }
        } else {
            store_by_hand<tile>(p, buffer, d);
        }
    }
    __device__ __forceinline__ void store_all() {
        Outputs o = next();
#pragma unroll 1
        while (o.there) {
            const Outputs after = next();
#pragma unroll
            for (int share = 0; share < shares; ++share) {
                if (o.rows[share] >= 0) {
                    const int warpgroup = 2 * share + part;
                    const Destination& d = o.first;
                    ptx::mbarrier_wait_parity(s.out_full(warpgroup), written >> share & 1U);
                    written ^= 1U << share;
                    store({d.token + o.rows[share], d.head, d.index, d.rows - o.rows[share]},
                          s.out(warpgroup));
                    __syncwarp();
                    if (threadIdx.x % 32 == 0) {
                        ptx::mbarrier_arrive(s.out_empty(warpgroup));
                    }
                }
            }
            o = after;
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90
