// SPDX-License-Identifier: Apache-2.0
// How a CTA that multiplies by WMMA lays out its shared memory; for host and device.
#pragma once

namespace raceline::gpu {

inline constexpr int side = 16;  ///< of the square matrices that are multiplied: rows of a warp

/// Threads of a CTA that has a warp for every sixteen of its rows.
constexpr int wmma_threads(int rows) {
    return rows * 2;
}

/// `buffers` of K and V: with two, one is read while the other is written. `Half` is __half on the
/// device and any type of two bytes on the host. Every row is padded so that eight neighbouring
/// rows start in different banks: a fragment is read and written eight rows at a time. The padding
/// keeps the 32-byte alignment of fragments.
template <class Half, int rows, int headdim, int keys, int buffers>
struct WmmaShared {
    static constexpr int warps = rows / side;
    alignas(32) Half q[rows][headdim + 8];
    alignas(32) Half k[buffers][keys][headdim + 8];
    alignas(32) Half v[buffers][keys][headdim + 8];
    alignas(32) float s[warps][side][keys + 8];
    alignas(32) Half p[warps][side][keys + 8];
    alignas(32) float factors[warps][side][side + 8];
};

}  // namespace raceline::gpu
