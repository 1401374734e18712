// SPDX-License-Identifier: Apache-2.0
// What records of kernels have alike that compute another operation than attention.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "registry/kernel.hpp"

namespace raceline {

/// Supports of a kernel that takes whatever its operation can be asked for, on CPUs.
template <TileType Tile>
std::string all_on_cpus(const Workload&, const Tile&, const Device& device) {
    return device.kind == DeviceKind::cpu ? "" : "it runs on CPUs";
}

/// A record for the operation `op`, of a kernel that computes in fp32. Its name comes from
/// RACELINE_OPERATION_KERNEL.
template <TileType Tile, std::size_t count>
KernelRecord<Tile> record_of(std::string_view op, std::string_view summary, Engine engine,
                             const std::array<Tile, count>& tiles,
                             std::string (&supports)(const Workload&, const Tile&, const Device&),
                             std::vector<Counts> (&counts)(const Workload&, const Tile&,
                                                           const Device&),
                             std::size_t (&workspace)(const Workload&, const Tile&,
                                                      const Device&) = no_workspace<Tile>) {
    KernelRecord<Tile> record =
        record_of(summary, engine, tiles, {supports, counts, computed_in_fp32, workspace});
    record.op = op;
    return record;
}

}  // namespace raceline
