// SPDX-License-Identifier: Apache-2.0
// NVFP4 caches: elements of E2M1 (0, 0.5, 1, 1.5, 2, 3, 4, 6), an E4M3 scale for 16 of them and the
// fp32 scale of k_scale or v_scale. An element cannot be addressed by itself, so that a page is
// packed as one: the codes of all its tokens, two a byte and the first in the low half, then their
// scales in the same order. Strides count elements as everywhere: element e of a page lies in byte
// e / 2, its scale in byte page / 2 + e / 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "workload/workload.hpp"

namespace raceline {

constexpr std::int64_t nvfp4_block = 16;  ///< elements of a scale

/// How a cache with rows of `row` elements a token is cut into pages. A contiguous cache has a page
/// a sequence, a packed one a single page.
struct Nvfp4Pages {
    std::int64_t tokens;    ///< of a page
    std::int64_t elements;  ///< from page to page: codes and scales both start on 16 bytes

    Nvfp4Pages(const Workload& workload, std::int64_t row);
    [[nodiscard]] std::int64_t bytes() const { return elements / 2 + elements / nvfp4_block; }
};

/// Quantises whole blocks into a page, from its element `first` on: a block's scale takes the
/// largest element to 6, elements go to the nearest code.
void store_nvfp4(std::byte* page, std::int64_t page_elements, std::int64_t first,
                 std::span<const float> values);

/// Code times block scale, without the fp32 scale: exact in float.
void load_nvfp4(const std::byte* page, std::int64_t page_elements, std::int64_t first,
                std::span<float> values);

}  // namespace raceline
