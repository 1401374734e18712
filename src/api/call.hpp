// SPDX-License-Identifier: Apache-2.0
// A checked call: the public arguments turned into what kernels take.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "api/tensor_checks.hpp"
#include "raceline/raceline.hpp"
#include "workload/attention_call.hpp"
#include "workload/workload.hpp"

namespace raceline::api {

struct Call {
    Workload workload;   ///< what is asked for; choice, workspace and prediction follow from it
    AttentionCall args;  ///< where its data is
    MemoryRange out, lse;
    std::array<MemoryRange, 12> read;  ///< what is not written; those behind it are empty
    /// No output element: nothing to do.
    [[nodiscard]] bool empty() const { return workload.tokens_q() == 0 || workload.heads_q == 0; }
};

/// Checks everything that can be known without running, and translates. Throws
/// Error(invalid_argument) with a sentence; reads no tensor. On a CPU decode reads `seqlens_k` and
/// `cu_seqlens_q`; in checked mode it reads these and the block table wherever they are.
Call check_forward(const ForwardArgs& args, Place place, Pointers pointers);
Call check_decode(const DecodeArgs& args, const Execution& execution, Pointers pointers);

/// Refuses outputs that share bytes with what is read, or with each other.
void check_outputs_apart(const Call& call);

/// The options that both share, folded into workload and arguments.
void apply_options(const AttentionOptions& options, Call& call);
/// Batch, heads, lengths, head dims and types of the finished workload, validated and copied to
/// the arguments.
void apply_sizes(Call& call);
/// An LSE view's pointer and strides; `fixed` views are (batch, seqlen, heads), others packed.
void apply_lse(const TensorView& lse, bool fixed, AttentionArgs& args);
/// The element type that q and the output may have.
void check_compute_dtype(const TensorView& q);
/// Query heads must be a positive multiple of KV heads; head dims at least 1.
void check_heads(const Workload& workload);

/// A tensor's pointer and strides; `fixed` tensors are (batch, seqlen, heads, headdim), others
/// packed.
TensorArg argument_of(const TensorView& view, bool fixed);
/// Prefix sums, on the host, from 0 to the packed total of `tensor`. Fills the lengths and returns
/// the longest.
std::int64_t read_prefix_sums(std::string_view name, std::span<const std::int32_t> sums,
                              std::string_view tensor, std::int64_t total,
                              std::vector<std::int64_t>& lengths);
/// The numbers of new tokens of a decode call's sequences, from a host copy of its cu_seqlens_q.
std::vector<std::int64_t> read_query_lengths(const DecodeArgs& args,
                                             std::span<const std::int32_t> sums);

/// Pages that the sequences use must exist: `lengths` and `table` are host copies.
void check_pages(std::span<const std::int32_t> lengths, std::span<const std::int32_t> table,
                 std::int64_t table_stride, std::int64_t page_size, std::int64_t pages);
/// Words of a tree of `tokens` new tokens a sequence may have bits for those alone.
void check_tree(std::span<const std::uint32_t> words, std::int64_t tokens);
/// The same of packed words, of sequences with these numbers of new tokens.
void check_packed_tree(std::span<const std::uint32_t> words, std::span<const std::int64_t> tokens);
/// Used lengths must be 0 to `longest`.
void check_lengths(std::span<const std::int32_t> lengths, std::int64_t longest);

/// Copies device memory to the host and waits for it, in the stream's order. Throws
/// Error(no_device) in a build without CUDA.
void read_device_memory(void* host, const void* device, std::size_t bytes, void* stream);

}  // namespace raceline::api
