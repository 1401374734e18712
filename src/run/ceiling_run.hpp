// SPDX-License-Identifier: Apache-2.0
// Measuring the ceilings of this machine and keeping them as this user's rates.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "probe/probes.hpp"
#include "receipt/row.hpp"
#include "run/run_case.hpp"

namespace raceline {

/// The live device of a name: "" is the GPU if there is one, else the CPU; "cpu"; "cuda" or the
/// GPU's id. Throws Error(no_device) for one that is not on this machine.
Device live_device(const std::string& name);

/// Probes it. Throws Error(internal) if a value is above its arithmetic limit.
std::vector<Ceiling> probe_ceilings(const Device& device, int threads,
                                    const ProbeProgress& progress, ProbeEffort effort);

/// Is given each row's content and the row as written; may be empty.
using SeenRow = std::function<void(const Json& content, const Json& row)>;

/// Puts a row a ceiling, each with how many there are.
void put_ceilings(const Device& device, std::span<const Ceiling> ceilings, const RowSink& sink,
                  const SeenRow& seen);

/// Throws Error(io) if the user's cache cannot be written: asked before probes, which take long.
void require_cache(const Device& device);

/// Writes the user's cache, whose old file is replaced when the new one is whole, and returns its
/// path.
std::string keep_ceilings(const Device& device, std::span<const Ceiling> ceilings,
                          const RowContext& context, const SeenRow& seen);

}  // namespace raceline
