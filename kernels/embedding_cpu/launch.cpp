// SPDX-License-Identifier: Apache-2.0
// Rows dealt out to threads and copied.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embedding_cpu/launch.cpp"
// clang-format off: the targets are chosen before Highway is seen
#include "cpu/simd/highway_targets.hpp"
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <cstring>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "cpu/simd/stream-inl.hpp"
#include "device/device.hpp"
#include "kernels/embedding_cpu/tile.hpp"
#include "registry/deal_out.hpp"

HWY_BEFORE_NAMESPACE();
namespace raceline::kernels::embedding_cpu::HWY_NAMESPACE {

void copy_rows(const OperationArgs& args, std::int64_t first, std::int64_t last, bool stream) {
    const OperationTensor& table = args.tensors[0];
    const auto bytes = static_cast<std::int64_t>(bytes_of(table.dtype)) * table.width;
    const auto* ids = static_cast<const std::int32_t*>(args.tensors[1].data);
    for (std::int64_t i = first; i < last; ++i) {
        const std::byte* from = static_cast<const std::byte*>(table.data) + ids[i] * bytes;
        std::byte* to = static_cast<std::byte*>(args.tensors[2].data) + i * bytes;
        if (stream) {
            raceline::simd::HWY_NAMESPACE::stream_bytes(from, static_cast<std::size_t>(bytes), to);
        } else {
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
        }
    }
    hwy::FlushStream();
}

}  // namespace raceline::kernels::embedding_cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace raceline::kernels::embedding_cpu {
HWY_EXPORT(copy_rows);

void launch(const OperationArgs& args, int tile, const Device& device, void* /*workspace*/,
            void* /*stream*/) {
    const Tile& shape = tile_list.at(static_cast<std::size_t>(tile));
    deal_out(device, args.tensors[2].rows, shape.rows, [&](std::int64_t first, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(copy_rows)(args, first, end, shape.stream != 0);
    });
}
}  // namespace raceline::kernels::embedding_cpu
#endif
