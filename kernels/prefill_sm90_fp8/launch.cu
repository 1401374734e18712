// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues it, behind the launch that
// transposes V where the tile asks for one.
#include <algorithm>
#include <cuda_runtime.h>
#include <string>

#include "kernels/prefill_sm90_fp8/dispatch.hpp"
#include "kernels/prefill_sm90_fp8/images.hpp"
#include "kernels/prefill_sm90_fp8/plan.hpp"
#include "kernels/prefill_sm90_fp8/prepare.hpp"
#include "kernels/prefill_sm90_fp8/tensor_map.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

constexpr float log2_of_e = 1.4426950408889634F;

// What the maps cover: all tokens of a packed tensor are one sequence. One without tokens is
// mapped as one token, which no item reads.
TensorExtent extent_of(std::int64_t headdim, std::int64_t heads, const void* packed,
                       std::int64_t tokens, const AttentionArgs& a, std::int64_t seqlen) {
    const std::int64_t length = packed != nullptr ? tokens : seqlen;
    return {headdim, std::max<std::int64_t>(1, length), heads, packed != nullptr ? 1 : a.batch};
}

bool chunked(const TensorArg& out) {
    constexpr std::int64_t piece = 8;  // elements of 16 bytes
    return reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0 && out.batch_stride % piece == 0 &&
           out.seq_stride % piece == 0 && out.head_stride % piece == 0;
}

CUtensorMap mapped(const char* name, const TensorArg& t, const TensorExtent& extent,
                   const Tile& tile, int rows) {
    if (!can_map(t, extent)) {
        throw Error(Status::unsupported,
                    std::string("prefill_sm90_fp8: ") + name +
                        "'s address and strides must be multiples of 16 bytes and not 0, or the "
                        "copy engine cannot read it");
    }
    return make_tensor_map(name, t, extent, tile.row_bytes(), rows);
}

Params make_params(const AttentionArgs& a, const Plan& plan, const Tile& tile) {
    const TensorExtent q =
        extent_of(a.headdim, a.heads_q, a.cu_seqlens_q, a.tokens_q, a, a.seqlen_q);
    const TensorExtent k =
        extent_of(a.headdim, a.heads_kv, a.cu_seqlens_k, a.tokens_k, a, a.seqlen_k);
    TensorExtent v = k;
    v.headdim = a.headdim_v;
    Params p{};
    p.args = a;
    p.band = plan.band;
    p.order = plan.order;
    p.by_heads = Divider(a.heads_q);
    p.by_group = Divider(a.heads_q / a.heads_kv);
    p.scale_log2 = a.scale * log2_of_e;
    p.chunked_out = chunked(a.out);
    if (a.seqlen_k > 0) {  // without keys nothing is read; k and v may then point nowhere
        p.q = mapped("q", a.q, q, tile, 64);  // a warpgroup's rows
        p.k = mapped("k", a.k, k, tile, tile.keys);
        p.v = mapped("v", a.v, v, tile, tile.keys);
    }
    return p;
}

void launch_plan(int tile, const Params& p, int ctas, void* stream) {
    switch (tiles.at(static_cast<std::size_t>(tile)).headdim) {
        case 64: return launch_headdim<64>(tile, p, ctas, stream);
        case 128: return launch_headdim<128>(tile, p, ctas, stream);
        case 256: return launch_headdim<256>(tile, p, ctas, stream);
        default: throw Error(Status::internal, "prefill_sm90_fp8: a head dim without code");
    }
}

void prepare(const Tile& tile, Params& p, void* workspace, void* stream) {
    p.images = static_cast<std::byte*>(workspace) + images_offset;
    const std::int64_t images = image_places(p.args, tile.keys) * p.args.heads_kv;
    if (p.args.seqlen_k > 0 && images > 0) {
        launch_preparation(tile, p, images, stream);
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Tile& shape = tiles.at(static_cast<std::size_t>(tile));
    const Plan plan = make_plan(shape_of(args), shape, device);
    if (plan.ctas == 0) {
        return;  // no query anywhere: nothing to write
    }
    if (!(args.scale > 0)) {
        throw Error(Status::unsupported, "prefill_sm90_fp8: scale is " +
                                             std::to_string(args.scale) +
                                             "; it takes the largest product of a row for the "
                                             "largest score, so the scale must be positive");
    }
    Params params = make_params(args, plan, shape);
    if (shape.prepared != 0) {
        prepare(shape, params, workspace, stream);
    }
    if (plan.handed_out) {
        params.handed_out = static_cast<unsigned*>(workspace);
        const cudaError_t status =
            cudaMemsetAsync(workspace, 0, sizeof(unsigned), static_cast<cudaStream_t>(stream));
        if (status != cudaSuccess) {
            throw Error(Status::internal,
                        std::string("prefill_sm90_fp8: clearing a counter failed: ") +
                            cudaGetErrorString(status));
        }
    }
    launch_plan(tile, params, plan.ctas, stream);
}

}  // namespace raceline::kernels::prefill_sm90_fp8
