// SPDX-License-Identifier: Apache-2.0
// A call's program, and the type whose code runs it.
#include <algorithm>
#include <cstdint>

#include "kernels/rows_cuda/row_parts.cuh"
#include "registry/enqueue.cuh"
#include "workload/compiled_chains.hpp"

namespace raceline::kernels::rows_cuda {

/// In a file of its own for each type.
template <DType type>
void launch_type(const Params& p, int tile, int units, void* stream);

void launch(const OperationArgs& args, int tile, const Device& device, void* workspace,
            void* stream) {
    Params p{};
    p.program = row_program_of(args);
    const std::int64_t bytes = args.dtype == DType::fp32 ? 4 : 2;
    p.head = static_cast<std::int32_t>(args.extents[2]);
    p.eps = static_cast<float>(args.scalars[0]);
    bool aligned = true;  // all tensors begin at multiples of 16 bytes
    for (std::int32_t i = 0; i <= p.program.result; ++i) {
        p.tensors[i] = static_cast<char*>(args.tensors.at(static_cast<std::size_t>(i)).data);
        aligned = aligned && reinterpret_cast<std::uintptr_t>(p.tensors[i]) % 16 == 0;
    }
    const bool whole = has_whole_chunks(p.program, args.extents[0], args.extents[1], bytes);
    p.access = !aligned ? Access::lone : whole ? Access::whole : Access::shifted;
    // A tile is chosen by shape. Few have code for tensors that begin anywhere.
    if (p.access == Access::lone && knows_rows(p.program)) {
        const std::int64_t held = held_by(tile_list[lone_rows_index], bytes);
        tile = args.extents[1] <= held ? lone_rows_index : wide_rows_index;
    }
    p.layout = layout_of(p.program, args.extents[0], args.extents[1],
                         tile_list.at(static_cast<std::size_t>(tile)), bytes);
    p.first_reduction = first_reduction(p.program);
    if (tile == wide_rows_index && p.layout.segments > 1 && p.access != Access::lone &&
        compiled_index(p.program) < compiled_programs.size()) {
        p.kept = kept_layout(p.program, args.extents[0],
                             bytes_of_chunks(args.extents[1], bytes, whole), device);
        p.handed_out = p.kept.handed_out ? static_cast<std::uint32_t*>(workspace) : nullptr;
    }
    const int units = std::max(1, device.units);
    with_dtype(args.dtype, [&](auto type) { launch_type<type()>(p, tile, units, stream); });
}

}  // namespace raceline::kernels::rows_cuda
