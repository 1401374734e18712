// SPDX-License-Identifier: Apache-2.0
// What the device code gets and what of it is compiled, by type of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <string_view>

#include "gpu/tile/schedule.hpp"
#include "kernels/prefill_sm90/descriptor.cuh"
#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/f16_tile.hpp"
#include "registry/instances.hpp"
#include "workload/attention_args.hpp"

namespace raceline::kernels::prefill_sm90 {

/// Coordinates of every map: column, token, head, sequence.
struct Params {
    CUtensorMap q, k, v, out;
    AttentionArgs args;
    Band band;
    schedule::Order order;
    /// Work tiles handed out so far beyond every CTA's first, 0 at the start; null: fixed shares.
    unsigned* handed_out;
    schedule::Divider by_heads, by_group;  ///< query heads; those of a KV head
    float scale_log2;                      ///< softmax scale, or the cap of a softcap, × log2 e
    float cap_inner;   ///< of a softcap: scale / cap, what tanh takes products by
    bool by_hand;      ///< the maps do not exist: the copy engine cannot read a tensor
    bool boxed_out;    ///< the map of the output exists: the copy engine can store rows
    bool chunked_out;  ///< output rows can be written in aligned 16-byte chunks
};

/// Compiled: every tile in fp16 and in bf16, and a few with the option of a softcap too.
struct Instances : InstancesOf<Params, tiles, 4> {
    static constexpr std::string_view engine = "prefill_sm90";
    template <int tile, int variant>
    static constexpr bool compiled = variant < 2 || caps(prefill_sm90::tiles[tile]);
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

}  // namespace raceline::kernels::prefill_sm90

namespace raceline::kernels::prefill_sm90_fp8 {

/// Coordinates of every map: column, token, head, sequence.
struct Params {
    CUtensorMap q, k, v;
    AttentionArgs args;
    Band band;
    schedule::Order order;
    /// Work tiles handed out so far beyond every CTA's first, 0 at the start; null: fixed shares.
    unsigned* handed_out;
    std::byte*
        images;  ///< V transposed, where a launch before this one has done it (e4m3_tile.hpp)
    schedule::Divider by_heads, by_group;  ///< query heads; those of a KV head
    float scale_log2;                      ///< softmax scale × log2 e, without the tensors' scales
    bool chunked_out;                      ///< output rows can be written in aligned 16-byte chunks
};

/// Compiled: every tile.
struct Instances : InstancesOf<Params, tiles, 1> {
    static constexpr std::string_view engine = "prefill_sm90_fp8";
    template <int tile, int variant>
    static auto code() -> void (*)(Params);
};

/// Enqueues the launch that transposes V before the main one, for a tile with `prepared`, of which
/// only head dim and keys matter. `images` of the workspace are to be written, V's map is good;
/// `stream` is a cudaStream_t.
void launch_preparation(const Tile& tile, const Params& params, std::int64_t images, void* stream);

/// Where the blocks of sequence b begin among V's images.
template <int keys>
__device__ __forceinline__ std::int32_t image_place(const Params& p, std::int32_t b) {
    return p.args.cu_seqlens_k != nullptr ? packed_place(p.args.cu_seqlens_k[b], b, keys)
                                          : equal_place(p.args.seqlen_k, b, keys);
}

/// A tensor's scale for the KV head of a work tile; a tensor without scales has 1 everywhere.
/// `Params` is there for the shared code of both engines, which finds this function by it.
__device__ __forceinline__ float scale_at(const Params& /*p*/, const float* scales,
                                          const hopper::Work& w) {
    return scales == nullptr ? 1.0F : scales[w.scale];
}
/// What a raw product of Q and K is multiplied by to be a logit in powers of two.
__device__ __forceinline__ float scale_log2_of(const Params& p, const hopper::Work& w) {
    return p.scale_log2 * scale_at(p, p.args.q_scale, w) * scale_at(p, p.args.k_scale, w);
}

}  // namespace raceline::kernels::prefill_sm90_fp8
