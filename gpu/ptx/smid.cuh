// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mov.u32 %smid: the SM that this thread runs on, read anew at every call. A CTA stays where it is
/// while nothing preempts it.
__device__ inline std::uint32_t smid() {
    std::uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

}  // namespace raceline::ptx
