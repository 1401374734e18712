// SPDX-License-Identifier: Apache-2.0
// Forward attention for Hopper: copies by TMA, products by wgmma, roles by warpgroup. In 16 bits,
// and in 8: Q, K and V in e4m3 with a scale a KV head, bf16 out.
#include <cstdint>
#include <string>

#include "kernels/prefill_sm90/counts.hpp"
#include "registry/kernel.hpp"
#include "registry/why_not.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    for (const std::string& reason : {why_not_hopper(device), why_not_16_bits(w),
                                      why_not_contiguous(w), why_not_head_dims(w, tiles, tile)}) {
        if (!reason.empty()) {
            return reason;
        }
    }
    if (w.softcap > 0 && !caps(tile)) {
        return "another tile of these head dims is the one compiled with a softcap";
    }
    return why_not_counted(w, tile.rows);
}

// Both products' operands and P are rounded to the storage type; everything else is fp32. P stands
// relative to an old maximum.
Precision precision(const Workload& w) {
    const Rounding stored = rounding_of(w.dtype);
    return {stored, Rounding::fp32,
            stored, Rounding::fp32_rz,
            stored, scale_of_older_base(stored == Rounding::fp16 ? 10 : 7)};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return schedule::workspace_bytes;
}

}  // namespace
}  // namespace raceline::kernels::prefill_sm90

RACELINE_KERNEL(prefill_sm90,
                record_of("forward for Hopper: TMA, wgmma, specialised warpgroups; bf16 and fp16",
                          Engine::cuda, tiles, {supports, counts, precision, workspace}))

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

std::string why_not_e4m3(const Workload& w) {
    if (w.dtype != DType::e4m3 || w.kv_dtype != DType::e4m3) {
        return std::string("it takes Q, K and V all in e4m3, not ") + name_of(w.dtype) + " and " +
               name_of(w.kv_dtype);
    }
    return {};
}

constexpr std::int64_t copied_elements = 16;  // what the copy engine strides by

std::string why_not_accurate(const Workload& w, const Tile& tile) {
    if (tile.accurate() || w.accuracy == Accuracy::fast) {
        return {};
    }
    if (tile.promote != 0 && tile.keys <= promoted_keys) {
        return "it serves accuracy=fast alone: other tiles are as accurate and faster";
    }
    return "it leaves sums of P·V over more than 128 keys to the tensor core, which keeps 13 bits "
           "below the largest summand: over long contexts that costs accuracy, and only "
           "accuracy=fast allows it";
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    for (const std::string& reason :
         {why_not_hopper(device), why_not_e4m3(w), why_not_contiguous(w),
          w.softcap > 0 ? std::string("it has no softcap") : std::string(),
          why_not_widths(w, copied_elements, HeadDim{width_for(w.headdim, w.headdim_v)},
                         HeadDim{tile.headdim}),
          why_not_accurate(w, tile), why_not_counted(w, tile.rows)}) {
        if (!reason.empty()) {
            return reason;
        }
    }
    if (tile.prepared != 0 && image_places(w, tile.keys) > schedule::most_work_tiles / w.heads_kv) {
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
        return schedule::workspace_bytes;
    }
    const std::int64_t images = image_places(w, tile.keys) * w.heads_kv;
    return images_offset + static_cast<std::size_t>(images * tile.block_bytes());
}

}  // namespace
}  // namespace raceline::kernels::prefill_sm90_fp8

RACELINE_KERNEL(
    prefill_sm90_fp8,
    record_of("forward for Hopper in e4m3: TMA, wgmma, V transposed on its way or before; bf16 out",
              Engine::cuda, tiles, {supports, counts, precision, workspace}))
