// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues it, behind the launch that
// transposes V where the tile asks for one.
#include <string>

#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/launch.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "registry/launch_args.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

CUtensorMap mapped(const char* name, const TensorArg& t, const TensorExtent& extent,
                   const Tile& tile, int rows) {
    if (!can_map(t, extent, Elements::e4m3)) {
        throw Error(Status::unsupported,
                    std::string("prefill_sm90_fp8: ") + name +
                        "'s address and strides must be multiples of 16 bytes and not 0, or the "
                        "copy engine cannot read it");
    }
    return make_tensor_map(name, t, extent, {Elements::e4m3, tile.row_bytes(), rows});
}

Params make_params(const AttentionArgs& a, const schedule::Plan& plan, const Tile& tile) {
    const Extents of = extents_of(a);
    Params p{};
    set_call(p, a, plan);
    p.scale_log2 = positive_score_scale("prefill_sm90_fp8", a).log2;
    p.chunked_out = in_chunks(a.out, 8, DType::bf16);
    if (a.seqlen_k > 0) {  // without keys nothing is read; k and v may then point nowhere
        p.q = mapped("q", a.q, of.q, tile, 64);  // a warpgroup's rows
        p.k = mapped("k", a.k, of.k, tile, tile.keys);
        p.v = mapped("v", a.v, of.v, tile, tile.keys);
    }
    return p;
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
    launch_call<Instances>(tile, 0, shape, args, device, workspace, stream,
                           [&](const schedule::Plan& plan) {
                               Params params = make_params(args, plan, shape);
                               if (shape.prepared != 0) {
                                   prepare(shape, params, workspace, stream);
                               }
                               return params;
                           });
}

}  // namespace raceline::kernels::prefill_sm90_fp8
