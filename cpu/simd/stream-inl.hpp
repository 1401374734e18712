// SPDX-License-Identifier: Apache-2.0
// Stores that go past the caches, compiled once for each SIMD target.
#if defined(RACELINE_CPU_SIMD_STREAM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RACELINE_CPU_SIMD_STREAM_INL
#undef RACELINE_CPU_SIMD_STREAM_INL
#else
#define RACELINE_CPU_SIMD_STREAM_INL
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace raceline::simd::HWY_NAMESPACE {

/// Copies `bytes` to where nothing overlaps them. Whole vectors go past the caches; what stands
/// before the first aligned address and behind the last one is stored ordinarily. FlushStream
/// (hwy/cache_control.h) orders them before later stores.
inline void stream_bytes(const std::byte* from, std::size_t bytes, std::byte* to) {
    const hwy::HWY_NAMESPACE::ScalableTag<std::uint8_t> d;
    const std::size_t step = hwy::HWY_NAMESPACE::Lanes(d);
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % step;
    const std::size_t head = std::min(bytes, misaligned == 0 ? 0 : step - misaligned);
    std::memcpy(to, from, head);
    std::size_t i = head;
    for (; i + step <= bytes; i += step) {
        const auto v =
            hwy::HWY_NAMESPACE::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + i));
        hwy::HWY_NAMESPACE::Stream(v, d, reinterpret_cast<std::uint8_t*>(to + i));
    }
    std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace raceline::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
