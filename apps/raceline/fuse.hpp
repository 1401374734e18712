// SPDX-License-Identifier: Apache-2.0
// --fuse of predict and bench: a chain's steps and the fused chain as cases, and their table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "options.hpp"
#include "run/run_case.hpp"
#include "workload/fusion.hpp"

namespace raceline::cli {

/// The chain that --fuse names.
Fusion fusion_of(const Options& options);

/// The same options with a shape for each part that a kernel may run, and for the fused chain.
Options with_parts(const Options& options, const Fusion& fusion);

using RanCase = std::pair<Case, CaseResult>;
/// `ran`: what was measured of these shapes, if anything.
std::string fusion_table(const Options& options, const Fusion& fusion, const Device& device,
                         const std::vector<RanCase>& ran, const TextStyle& style);

}  // namespace raceline::cli
