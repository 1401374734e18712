// SPDX-License-Identifier: Apache-2.0
// Emulated: reads what is asked for, so that sanitizers see an address behind the tensor.
#pragma once

#include <cstdint>

namespace raceline::ptx {

inline void cp_async_bulk_prefetch_l2(const void* from, std::uint32_t bytes) {
    const auto* at = static_cast<const volatile unsigned char*>(from);
    for (std::uint32_t i = 0; i < bytes; ++i) {
        static_cast<void>(at[i]);
    }
}

inline void prefetch_global_l2(const void* from) {
    static_cast<void>(*static_cast<const volatile unsigned char*>(from));
}

}  // namespace raceline::ptx
