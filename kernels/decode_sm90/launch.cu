// SPDX-License-Identifier: Apache-2.0
// What the registry calls: fills the kernel's parameters and enqueues it.
#include <bit>
#include <cstddef>

#include "kernels/decode_sm90/params.hpp"
#include "registry/enqueue.cuh"
#include "registry/launch_args.hpp"

namespace raceline::kernels::decode_sm90 {
namespace {

/// Whether the scales of four keys from a multiple of four on stand side by side, 16 bytes aligned.
bool in_fours(const ScaleArg& scale, const AttentionArgs& a) {
    return reinterpret_cast<std::uintptr_t>(scale.data) % 16 == 0 && scale.seq_stride == 1 &&
           scale.head_stride % 4 == 0 && scale.batch_stride % 4 == 0 && a.page_size % 4 == 0 &&
           a.cu_seqlens_k == nullptr;
}

}  // namespace

Params make_params(const AttentionCall& a, const Plan& plan, const Tile& tile, void* workspace) {
    const Problem problem = problem_of(a);
    const auto page = static_cast<unsigned>(a.page_size);
    const ScoreScale scale = score_scale(a);
    Params p{};
    p.args = a;
    p.band = problem.band();
    p.group = static_cast<std::int32_t>(problem.group());
    p.ctas = plan.ctas;
    p.page_shift = std::has_single_bit(page) ? std::countr_zero(page) : -1;
    p.uniform = !problem.ragged;
    p.by_hand = !in_chunks(a.k, a.headdim, a.kv_dtype) || !in_chunks(a.v, a.headdim_v, a.kv_dtype);
    p.plain = !p.by_hand && (a.page_size == 0 || a.page_size % run_keys == 0);
    p.paired_q = in_chunks(a.q, a.headdim, a.dtype, 4);
    p.chunked_out = in_chunks(a.out, a.headdim_v, a.dtype, 8);
    p.scale_log2 = scale.log2;
    p.cap_inner = scale.cap_inner;
    p.by_group = schedule::Divider(p.group);
    if (p.uniform) {
        const CutRule rule(tile);
        const std::int32_t row_tiles = row_tiles_of(a.seqlen_q, p.group);
        const std::int32_t units = a.heads_kv / rule.heads * row_tiles;
        const std::int32_t blocks = blocks_of(p.band, tile.keys).count();
        p.cuts = cuts_of_equal(a.batch * units, blocks, p.ctas, rule);
        p.length_of_unit = blocks + (p.cuts.by_units() ? 0 : rule.pad);
        p.by_length = schedule::Divider(p.length_of_unit);
        p.by_units = schedule::Divider(units);
        p.by_row_tiles = schedule::Divider(row_tiles);
    }
    const auto address = (reinterpret_cast<std::uintptr_t>(workspace) + 15) / 16 * 16;
    p.partial_out = reinterpret_cast<float*>(address);
    const auto rows = static_cast<std::ptrdiff_t>(plan.ctas) * 2 * tile.heads() * tile_rows;
    p.partial_sums = p.partial_out + rows * tile.headdim;
    p.arrivals = reinterpret_cast<std::uint64_t*>(p.partial_sums + rows * 2);
    p.k_token_scale = a.k_token_scale;
    p.v_token_scale = a.v_token_scale;
    p.scales_in_chunks = in_fours(a.k_token_scale, a) && in_fours(a.v_token_scale, a);
    return p;
}

void launch(const AttentionCall& args, int tile, const Device& device, void* workspace,
            void* stream) {
    const Tile& shape = tiles.at(static_cast<std::size_t>(tile));
    const Plan plan = make_plan(shape, device);
    if (args.batch == 0 || args.heads_q == 0 || args.seqlen_q == 0) {
        return;  // no query anywhere: nothing to write
    }
    const Params params = make_params(args, plan, shape, workspace);
    const bool few = has_few_rows(args.seqlen_q, params.group);
    launch_instance<Instances>(tile, Instances::variant(args.dtype == DType::bf16, few), params,
                               {dim3(static_cast<unsigned>(plan.ctas)), shape.threads(),
                                static_cast<std::size_t>(shape.shared_bytes()), stream});
}

}  // namespace raceline::kernels::decode_sm90
