// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace raceline {

/// Storage types. The numbers are part of the C ABI.
enum class DType : std::int32_t { fp32 = 0, fp16 = 1, bf16 = 2, e4m3 = 3, nvfp4 = 4 };

/// Bits of one element. NVFP4 counts its share of the block scale: 4 + 8/16.
constexpr double bits_of(DType t) {
    switch (t) {
        case DType::fp32: return 32;
        case DType::fp16:
        case DType::bf16: return 16;
        case DType::e4m3: return 8;
        case DType::nvfp4: return 4.5;
    }
    return 0;
}
constexpr double bytes_of(DType t) {
    return bits_of(t) / 8;
}

constexpr const char* name_of(DType t) {
    switch (t) {
        case DType::fp32: return "fp32";
        case DType::fp16: return "fp16";
        case DType::bf16: return "bf16";
        case DType::e4m3: return "e4m3";
        case DType::nvfp4: return "nvfp4";
    }
    return "?";
}

}  // namespace raceline
