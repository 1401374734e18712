// SPDX-License-Identifier: Apache-2.0
// What a rung asks of the tensors of a call before it is enqueued.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "ladder/tracks/launch.cuh"
#include "raceline/error.hpp"

namespace raceline::kernels::from_scratch {

/// Throws unless these tensors start at, and step by, what can be read sixteen bytes at once.
inline void check_aligned(const char* who, const AttentionArgs& a,
                          std::initializer_list<std::pair<const char*, const TensorArg*>> tensors) {
    const int element = a.dtype == DType::fp16 ? 2 : 4;
    for (const auto& [name, t] : tensors) {
        const std::int64_t all = t->batch_stride | t->seq_stride | t->head_stride;
        if (reinterpret_cast<std::uintptr_t>(t->data) % 16 != 0 || all * element % 16 != 0) {
            throw Error(Status::invalid_argument,
                        std::string(who) + ": " + name +
                            " must start at, and step by, multiples of sixteen bytes");
        }
    }
}

/// tracks::launch_rows of a rung that reads Q, K and V sixteen bytes at once.
template <const auto& tiles, template <int, int> class Shared, class CodeOf>
void launch_aligned(const char* who, const AttentionArgs& a, int tile, void* stream,
                    const CodeOf& code_of) {
    check_aligned(who, a, {{"q", &a.q}, {"k", &a.k}, {"v", &a.v}});
    tracks::launch_rows<tiles, Shared>(who, a, tile, stream, code_of);
}

}  // namespace raceline::kernels::from_scratch
