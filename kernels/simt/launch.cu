// SPDX-License-Identifier: Apache-2.0
// What the registry calls: cuts the call up, fills the kernel's parameters, enqueues one launch, or
// two where the keys are split.
#include <bit>
#include <cstddef>
#include <string>

#include "kernels/simt/dispatch.hpp"
#include "kernels/simt/plan.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::simt {
namespace {

// Rows can be read in aligned pieces of `piece` bytes: address, every stride and the width agree.
bool pieces(const TensorArg& t, int width, DType dtype, std::size_t piece) {
    const auto size = static_cast<std::size_t>(bytes_of(dtype));
    const auto divides = [&](std::int64_t elements) {
        return static_cast<std::size_t>(elements) * size % piece == 0;
    };
    return reinterpret_cast<std::uintptr_t>(t.data) % piece == 0 && divides(t.batch_stride) &&
           divides(t.seq_stride) && divides(t.head_stride) && divides(width);
}

Params make_params(const AttentionArgs& args, const Plan& plan, void* workspace) {
    Params p{};
    p.args = args;
    p.total_rows = plan.total_rows;
    p.partial_width = plan.partial_width;
    p.row_tiles = static_cast<std::int32_t>(plan.row_tiles);
    p.splits = static_cast<std::int32_t>(plan.splits);
    p.group = args.heads_q / args.heads_kv;
    p.depth = plan.depth;
    p.pitch = plan.pitch;
    p.shared_kv = plan.shared_kv;
    const auto page = static_cast<unsigned>(args.page_size);
    p.page_shift = std::has_single_bit(page) ? std::countr_zero(page) : -1;
    p.chunked_q = pieces(args.q, args.headdim, args.dtype, 16);
    p.chunked_k = pieces(args.k, args.headdim, args.kv_dtype, 16);
    p.chunked_v = pieces(args.v, args.headdim_v, args.kv_dtype, 16);
    p.chunked_out = pieces(args.out, args.headdim_v, args.dtype,
                           4 * static_cast<std::size_t>(bytes_of(args.dtype)));
    if (plan.splits > 1) {
        const auto address = (reinterpret_cast<std::uintptr_t>(workspace) + 15) / 16 * 16;
        p.partial_out = reinterpret_cast<float*>(address);
        p.partial_sums = p.partial_out + plan.splits * plan.total_rows * plan.partial_width;
    }
    return p;
}

void launch_plan(const Plan& plan, int tile, const Params& p, void* stream) {
    switch (plan.v_width) {
        case 32: return launch_width<32>(tile, p, plan.ctas, plan.smem_bytes, stream);
        case 64: return launch_width<64>(tile, p, plan.ctas, plan.smem_bytes, stream);
        case 128: return launch_width<128>(tile, p, plan.ctas, plan.smem_bytes, stream);
        case 192: return launch_width<192>(tile, p, plan.ctas, plan.smem_bytes, stream);
        case 256: return launch_width<256>(tile, p, plan.ctas, plan.smem_bytes, stream);
        case 512: return launch_width<512>(tile, p, plan.ctas, plan.smem_bytes, stream);
        default:
            throw Error(Status::unsupported,
                        "simt: headdim_v " + std::to_string(p.args.headdim_v) + " is over 512");
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Plan plan = make_plan(shape_of(args), tiles.at(static_cast<std::size_t>(tile)), device);
    if (plan.ctas == 0) {
        return;  // no query anywhere: nothing to write
    }
    const Params params = make_params(args, plan, workspace);
    launch_plan(plan, tile, params, stream);
    if (plan.splits > 1) {
        launch_merge(params, stream);
    }
}

}  // namespace raceline::kernels::simt
