// SPDX-License-Identifier: Apache-2.0
// redux.sync.or.b32 (sm_80): the bitwise or of all lanes' values. All threads of the warp take
// part.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// A value that is the same in all lanes, where the compiler cannot know it: the result stands in a
/// uniform register, and so does all arithmetic on it. Descriptors of wgmma are read from there,
/// and every one that is computed lane by lane costs two moves between the products.
__device__ __forceinline__ std::uint32_t uniform(std::uint32_t x) {
    std::uint32_t d;
    asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(x));
    return d;
}

}  // namespace raceline::ptx
