// SPDX-License-Identifier: Apache-2.0
// Forward attention for Hopper in 8 bits: Q, K and V in e4m3 with a scale a KV head, bf16 out.
#include <cstdint>
#include <string>

#include "kernels/prefill_sm90_fp8/counts.hpp"
#include "kernels/prefill_sm90_fp8/images.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

constexpr std::int64_t granule = 16;  // elements of 16 bytes, what the copy engine strides by

std::string why_not_asked(const Workload& w) {
    if (w.dtype != DType::e4m3 || w.kv_dtype != DType::e4m3) {
        return std::string("it takes Q, K and V all in e4m3, not ") + name_of(w.dtype) + " and " +
               name_of(w.kv_dtype);
    }
    if (w.page_size > 0) {
        return "it takes keys and values in one piece, not in pages";
    }
    if (w.mla) {
        return "it takes K and V apart, not one latent cache";
    }
    if (w.softcap > 0) {
        return "it has no softcap";
    }
    if (!(w.scale_value() > 0)) {
        return "scale " + std::to_string(w.scale_value()) + " is not positive";
    }
    if (w.seqlen_q > longest_length || w.seqlen_k > longest_length) {
        return "it counts rows and keys up to 2^29";
    }
    return {};
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda || device.compute_capability != 90) {
        return "it needs a Hopper GPU (compute capability 9.0)";
    }
    if (const std::string reason = why_not_asked(w); !reason.empty()) {
        return reason;
    }
    const std::string dims =
        "head dims " + std::to_string(w.headdim) + " and " + std::to_string(w.headdim_v);
    if (w.headdim % granule != 0 || w.headdim_v % granule != 0) {
        return dims + " must be multiples of 16";
    }
    const std::int32_t width = width_for(w.headdim, w.headdim_v);
    if (width == 0) {
        return dims + " are over 256";
    }
    if (width != tile.headdim) {
        return "tiles of head dim " + std::to_string(width) + " serve " + dims;
    }
    if (!tile.accurate() && w.accuracy != Accuracy::fast) {
        if (tile.promote != 0 && tile.keys <= promoted_keys) {
            return "it serves accuracy=fast alone: other tiles are as accurate and faster";
        }
        return "it leaves sums of P·V over more than 128 keys to the tensor core, which keeps 13 "
               "bits below the largest summand: over long contexts that costs accuracy, and only "
               "accuracy=fast allows it";
    }
    if (item_count(shape_of(w), tile) > most_items) {
        return "it counts tiles of rows in 31 bits";
    }
    if (tile.prepared != 0 && image_places(w, tile.keys) > most_items / w.heads_kv) {
        return "it counts blocks of V in 31 bits";
    }
    return {};
}

// Operands are e4m3 as they come; P is e4m3 times some 2^6 (softmax.cuh); the denominator is a sum
// of what P was before that. P stands relative to a base that follows what has been seen of a row.
// Sums of P·V are promoted to fp32 after 128 keys at most, or never where
// fast ones were asked for. Head dims that a tile pads by 32 channels or more go through the tensor
// core with zeros, which cuts their scores once more.
Precision precision(const Workload& w) {
    constexpr double scale_of_probabilities = 64 * scale_of_older_base(3);
    const std::int64_t keys = w.accuracy == Accuracy::fast ? 0 : promoted_keys;
    return {Rounding::e4m3, Rounding::fp32,
            Rounding::e4m3, Rounding::e4m3_sum,
            Rounding::bf16, scale_of_probabilities,
            keys,           width_for(w.headdim, w.headdim_v) > (w.headdim + 31) / 32 * 32};
}

std::size_t workspace(const Workload& w, const Tile& tile, const Device&) {
    if (tile.prepared == 0) {
        return workspace_bytes;
    }
    const std::int64_t images = image_places(w, tile.keys) * w.heads_kv;
    return images_offset + static_cast<std::size_t>(images * tile.block_bytes());
}

const KernelRecord<Tile> record{
    .name = "prefill_sm90_fp8",
    .summary =
        "forward for Hopper in e4m3: TMA, wgmma, V transposed on its way or before; bf16 out",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
};

}  // namespace
}  // namespace raceline::kernels::prefill_sm90_fp8

RACELINE_KERNEL(prefill_sm90_fp8, raceline::kernels::prefill_sm90_fp8::record)
