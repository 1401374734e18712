// SPDX-License-Identifier: Apache-2.0
// Machines whose CPUs have one name: what tells them apart.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/timed_rows.hpp"

namespace raceline {

/// What tells a machine from the others of its label, as "256-bit SIMD, 512 KiB of L2", by the
/// label that they share and the rates_id of its row. Machines that differ in nothing that a row
/// says of them (cores, width of SIMD, caches, memory), and those of which no row says it, are not
/// in it.
using MachineWords = std::map<std::pair<std::string, std::string>, std::string>;
MachineWords machines_of(const std::vector<const TimedRows*>& all);

/// Adds the words to the labels of cases, peers and stated devices. A case whose machine is not
/// known keeps its label, and the label then keeps what was stated of it.
void name_machines(TimedRows& rows, const MachineWords& words);

/// Whether labels of cases have such words.
bool has_named_machines(const TimedRows& rows);

}  // namespace raceline
