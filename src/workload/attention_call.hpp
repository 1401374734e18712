// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch with what only some kernels take.
#pragma once

#include <cstdint>

#include "workload/attention_args.hpp"

namespace raceline {

/// Apart from AttentionArgs, which is a parameter of every kernel: a member more would change the
/// machine code of all of them.
struct AttentionCall : AttentionArgs {
    /// A word a query token, packed like the query tokens: (batch, seqlen_q), or of a packed q
    /// (tokens_q). Bit j is set if the token sees the sequence's new token j, whose key stands
    /// seqlen_q - j before the end of the sequence's keys; older keys are seen by all. Bits behind
    /// the sequence's last token count for nothing. The window is open on both sides then. Null:
    /// no tree.
    const std::uint32_t* tree = nullptr;

    AttentionCall() = default;
    /// Of a call without any of it.
    AttentionCall(const AttentionArgs& args) : AttentionArgs(args) {}
};

}  // namespace raceline
