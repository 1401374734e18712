// SPDX-License-Identifier: Apache-2.0
// The sentences of the decode rungs' supports().
#include "ladder/decode/reasons.hpp"

#include "registry/kernel.hpp"

namespace raceline::kernels::decode {
namespace {

std::string unless(bool fine, const std::string& reason) {
    return fine ? "" : reason;
}

}  // namespace

std::string not_a_gpu(const Device& device) {
    return unless(device.kind == DeviceKind::cuda, "it needs an NVIDIA GPU");
}

std::string other_types(const Workload& w, bool taken, std::string_view what) {
    return unless(taken, "it reads " + std::string(what) + ", not " + name_of(w.dtype) + " and " +
                             name_of(w.kv_dtype));
}

std::string all_floats(const Workload& w) {
    return other_types(w,
                       (w.dtype == DType::fp32 || w.dtype == DType::fp16) && w.kv_dtype == w.dtype,
                       "Q, K and V all in fp32 or all in fp16");
}

std::string all_halves(const Workload& w) {
    return other_types(w, w.dtype == DType::fp16 && w.kv_dtype == w.dtype, "Q, K and V in fp16");
}

std::string other_head_dims(const Workload& w) {
    return unless((w.headdim == 64 || w.headdim == 128) && w.headdim_v == w.headdim && !w.mla,
                  "it takes head dims 64 and 128, the same for V");
}

std::string other_lengths(const Workload& w) {
    return first_of(
        {unless(w.seqlens_q.empty() && (!w.ragged() || w.page_size > 0),
                "it takes sequences of different lengths in pages only, with one query token each"),
         unless((w.page_size & (w.page_size - 1)) == 0,
                "it takes pages of a power of two tokens, not " + std::to_string(w.page_size))});
}

std::string other_scores(const Workload& w) {
    return first_of({unless(w.seqlen_q == 1, "it answers one query token a sequence, not " +
                                                 std::to_string(w.seqlen_q)),
                     unless(!has_window(w) && w.softcap == 0 && !w.sinks,
                            "it knows no window, softcap or sinks")});
}

std::string other_calls(const Workload& w, const Device& device, const std::string& types) {
    return first_of(
        {not_a_gpu(device), types, other_head_dims(w), other_lengths(w), other_scores(w)});
}

std::string no_room(const Plan& plan, const Device& device, std::string_view who) {
    return unless(plan.smem_bytes <= device.smem_bytes_per_cta,
                  std::string(who) + " takes " + std::to_string(plan.smem_bytes) +
                      " bytes of shared memory; the device has " +
                      std::to_string(device.smem_bytes_per_cta));
}

std::string too_wide(const Workload& w) {
    return unless(w.group() <= widest_group, "it packs up to " + std::to_string(widest_group) +
                                                 " query heads a KV head, not " +
                                                 std::to_string(w.group()));
}

std::string too_many_keys(const Workload& w) {
    return unless(w.seqlen_k <= (1 << 30), "it counts keys in 31 bits");
}

std::string too_many_ctas(const Workload& w, const Plan& plan) {
    constexpr std::int64_t most = 65535;
    return unless(w.batch <= most && plan.splits <= most,
                  "it takes up to 65535 sequences and splits");
}

}  // namespace raceline::kernels::decode
