// SPDX-License-Identifier: Apache-2.0
// Calls with a tree for kernels, each with words of its own.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "workload/normal.hpp"

namespace raceline::test {

/// Shape `n` of an endless list, of up to `most_tokens` new tokens: every format and option that
/// goes with a tree, lengths in a batch alike and not, caches as short as the new tokens and
/// shorter. `token_scales`: half of the caches in e4m3 have a scale for each token.
inline std::string tree_shape(std::uint64_t n, std::uint64_t most_tokens, bool fp32,
                              bool token_scales) {
    const std::uint64_t key = stream_key(n, 0x74726565);
    std::uint64_t counter = 0;
    const auto below = [&](std::uint64_t bound) { return random_below(key, counter++, bound); };
    const std::uint64_t heads_kv = 1 + below(2);
    const std::uint64_t group = 1 + below(4);
    std::string q;
    std::string k;
    const std::uint64_t batch = 1 + below(3);
    const bool ragged = below(2) == 0;
    for (std::uint64_t b = 0; b < (ragged ? batch : 1); ++b) {
        const std::uint64_t tokens = 1 + below(most_tokens);
        q += fmt::format("{};", tokens);
        k += fmt::format("{};", below(4) == 0 ? below(tokens + 2) : below(230));
    }
    if (!ragged) {
        q.pop_back();
        k.pop_back();
    }
    const std::string type = below(2) == 0 ? "bf16" : fp32 && below(2) == 0 ? "fp32" : "fp16";
    return fmt::format("{}h={}/{},q={},k={},d={},dtype={}{}{}{}{},tree={}",
                       ragged ? "" : fmt::format("b={},", batch), heads_kv * group, heads_kv, q, k,
                       below(2) == 0 ? 64 : 128, type,
                       below(3) != 0                ? ""
                       : token_scales && n % 2 == 0 ? ",kv=e4m3,scales=token"
                                                    : ",kv=e4m3",
                       below(3) == 0 ? ",softcap=20" : "", below(3) == 0 ? ",sinks" : "",
                       below(2) == 0 ? ",page=16" : "", n + 1);
}

}  // namespace raceline::test
