// SPDX-License-Identifier: Apache-2.0
// fp8_kv on a cache of NVFP4: 4.5 bits an element. A load of 16 bytes brings 32 codes of E2M1, and
// two bytes beside it their two scales in E4M3. Byte permutes look eight codes up at a time, half
// arithmetic applies the scale; what shared memory gets is a half that holds the product exactly
// (two significant bits by four). The fp32 scales of a KV head are factors of Q and of the output.
#include <cstring>

#include "gpu/ptx/prmt_b32.cuh"
#include "ladder/decode/fp8_kv/fp8_kv.cuh"

namespace raceline::kernels::nvfp4_kv {

using namespace decode;
using gqa_scorestationary::pitch_of;

// Eight codes of E2M1, the first in the lowest bits, as the eight halves that they are: sign, two
// bits of exponent, one of mantissa, so that only the upper byte of a half is ever set.
inline __device__ uint4 halves_of(std::uint32_t codes, __half2 scale) {
    constexpr std::uint32_t below_2 = 0x3E3C3800, from_2 = 0x46444240;  // upper bytes of 0 … 6
    std::uint32_t pairs[4];
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t four = codes >> (16 * i);
        const std::uint32_t magnitude = ptx::prmt_b32(below_2, from_2, four & 0x7777);
        // 0x80 for each code, 0xFF if its sign is set: bit 6 tells which.
        const std::uint32_t sign = ptx::prmt_b32(0x80808080, 0x80808080, four) << 1;
        const std::uint32_t bytes = magnitude | (sign & 0x80808080);
        pairs[2 * i] = ptx::prmt_b32(bytes, 0, 0x1404);
        pairs[2 * i + 1] = ptx::prmt_b32(bytes, 0, 0x3424);
    }
    for (std::uint32_t& pair : pairs) {
        __half2 two;
        memcpy(&two, &pair, sizeof(two));
        two = __hmul2(two, scale);
        memcpy(&pair, &two, sizeof(two));
    }
    return {pairs[0], pairs[1], pairs[2], pairs[3]};
}

// 32 elements of a row as halves at `to`. Lanes are 64 bytes apart, so that a thread stores its
// four chunks of 16 bytes in its own `order`, one that lets eight lanes cover all banks.
inline __device__ void store_halves(__half* to, uint4 raw, std::uint16_t scales, int order) {
    const __half2_raw both = __nv_cvt_fp8x2_to_halfraw2(scales, __NV_E4M3);
    const __half2 scale = both;
    const bool swap_pairs = (order & 1) != 0, swap_halves = (order & 2) != 0;
    const std::uint32_t low[2] = {swap_pairs ? raw.y : raw.x, swap_pairs ? raw.x : raw.y};
    const std::uint32_t high[2] = {swap_pairs ? raw.w : raw.z, swap_pairs ? raw.z : raw.w};
    for (int i = 0; i < 4; ++i) {
        const bool upper = (i >= 2) != swap_halves;
        *reinterpret_cast<uint4*>(to + (i ^ order) * 8) = halves_of(
            upper ? high[i % 2] : low[i % 2], upper ? __high2half2(scale) : __low2half2(scale));
    }
}

// A tensor of the cache: where its page's codes and, behind them, its scales lie (nvfp4.hpp).
struct Tensor {
    const std::uint8_t* data;
    std::int64_t page;  // elements from page to page
    int token, head;    // elements from token to token; this KV head's first

    __device__ Tensor(const TensorArg& t, int head_kv)
        : data(static_cast<const std::uint8_t*>(t.data)),
          page(t.batch_stride),
          token(static_cast<int>(t.seq_stride)),
          head(head_kv * static_cast<int>(t.head_stride)) {}
    __device__ const std::uint8_t* page_at(std::int64_t index) const {
        return data + index * (page / 16 * 9);
    }
    __device__ uint4 codes(std::int64_t index, std::int64_t element) const {
        return load_16(page_at(index) + element / 2);
    }
    __device__ std::uint16_t scales(std::int64_t index, std::int64_t element) const {
        return __ldg(
            reinterpret_cast<const std::uint16_t*>(page_at(index) + page / 2 + element / 16));
    }
};

struct Cache {
    static constexpr bool scaled = true;
    Tensor k, v;
    paged::Pages pages;
    int length;  // of the sequence
    fp8_kv::Scales scale;

    __device__ Cache(const AttentionArgs& a, unsigned batch, unsigned head_kv)
        : k(a.k, static_cast<int>(head_kv)),
          v(a.v, static_cast<int>(head_kv)),
          pages(paged::pages_of(a, batch)),
          length(paged::length_of(a, batch)),
          scale(a, batch, head_kv) {}
    // Rows `first` … of K and V to shared memory, 16 bytes of codes a load. A thread's loads are
    // all under way before the first is stored. Past the last of `keys` rows that one is loaded
    // again.
    template <int d>
    __device__ void stage(__half* tile_k, __half* tile_v, int first, int keys) const {
        constexpr int elements = 32;            // of a load
        constexpr int chunks = d / elements;    // of a row
        constexpr int step = threads / chunks;  // rows that all threads load at once
        static_assert(gqa_scorestationary::tile_keys(d) == step * batch_rows);
        const int chunk = static_cast<int>(threadIdx.x % chunks);
        // Every thread stores, so that no row of a block of 32 keys is left as it was.
        const int row = static_cast<int>(threadIdx.x / chunks);
        // Eight lanes are two rows of four chunks or four of two. K's padding turns its rows by
        // itself.
        const int order_k = chunks == 4 ? chunk & 2 : 0;
        const int order_v = chunks == 4 ? (chunk & 2) | (row & 1) : row & 3;
        uint4 raw_k[batch_rows], raw_v[batch_rows];
        std::uint16_t scales_k[batch_rows], scales_v[batch_rows];
        for (int j = 0; j < batch_rows; ++j) {
            const int token = first + min(row + j * step, keys - 1);
            const std::int64_t page = pages.page(token);
            const std::int64_t slot = pages.slot(token);
            const std::int64_t at_k = slot * k.token + k.head + chunk * elements;
            const std::int64_t at_v = slot * v.token + v.head + chunk * elements;
            raw_k[j] = k.codes(page, at_k);
            scales_k[j] = k.scales(page, at_k);
            raw_v[j] = v.codes(page, at_v);
            scales_v[j] = v.scales(page, at_v);
        }
#pragma unroll 1
        for (int at = 0; at < 2; ++at) {
            __half* tile = at == 0 ? tile_k + chunk * elements : tile_v + chunk * elements;
            const int pitch = at == 0 ? pitch_of(d) : d;
            const int order = at == 0 ? order_k : order_v;
            for (int j = 0; j < batch_rows; ++j) {
                store_halves(tile + (row + j * step) * pitch, at == 0 ? raw_k[j] : raw_v[j],
                             at == 0 ? scales_k[j] : scales_v[j], order);
            }
        }
    }
};

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    gqa_scorestationary::launch_cache<Cache>(cut("nvfp4_kv", a, gqa_scorestationary::layout_of,
                                                 tiles.at(tile), device, workspace, stream));
}

}  // namespace raceline::kernels::nvfp4_kv
