// SPDX-License-Identifier: Apache-2.0
// Shared memory of a CTA that multiplies by WMMA; for host and device.
#pragma once

#include "gpu/tile/wmma_shared.hpp"
#include "ladder/tracks/rows.hpp"

namespace raceline::kernels::tracks {

using gpu::side;

/// With so many buffers of K and V.
template <class Half, int rows, int headdim, int buffers>
using WmmaShared = gpu::WmmaShared<Half, rows, headdim, tile_keys, buffers>;

}  // namespace raceline::kernels::tracks
