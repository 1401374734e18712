// SPDX-License-Identifier: Apache-2.0
// What the rungs of several tracks say alike to the registry: which calls they take, how they
// round, and the record itself.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "registry/kernel.hpp"

namespace raceline::kernels::tracks {

/// The first one that says something, or "".
std::string first_of(std::initializer_list<std::string> reasons);

/// Why not: the device or the types, of a rung that computes in fp32.
std::string beyond_types(const Workload& w, const Device& device);
/// The same, the head dim, or what is not plain attention; and of a rung on tensor cores.
std::string beyond_floats(const Workload& w, const Device& device);
std::string beyond_halves(const Workload& w, const Device& device);

template <class Tile>
std::string supports_floats(const Workload& w, const Tile&, const Device& device) {
    return beyond_floats(w, device);
}
template <class Tile>
std::string supports_halves(const Workload& w, const Tile&, const Device& device) {
    return beyond_halves(w, device);
}

/// Products and sums in fp32; the output is rounded to the type of Q.
Precision float_precision(const Workload& w);
/// fp16 operands, P among them; sums in the tensor core's fp32.
Precision half_precision(const Workload& w);

/// The record of a rung that runs on a GPU. Its name comes from RACELINE_KERNEL.
template <TileType Tile, std::size_t count>
KernelRecord<Tile> record_of(const Rung& rung, std::string_view summary,
                             const std::array<Tile, count>& tiles,
                             const std::type_identity_t<KernelFunctions<Tile>>& functions) {
    return {.name = std::string_view(),
            .summary = summary,
            .engine = Engine::cuda,
            .tiles = std::span<const Tile>(tiles),
            .functions = functions,
            .rung = &rung};
}

}  // namespace raceline::kernels::tracks
