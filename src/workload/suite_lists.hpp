// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// A suite as it is written down: its shapes are texts of the shape grammar.
struct SuiteEntry {
    std::string_view name, summary;
    std::vector<std::string> (*shapes)();
};

/// What is compared and published. Random suites avoid the shapes of these.
std::span<const SuiteEntry> benchmark_suites();
/// What tools/*.sh measure beside the benchmark suites.
std::span<const SuiteEntry> measuring_suites();
/// What tools/*.sh check on a device: the ways of not filling a tile, and small shapes that a
/// sanitizer gets through.
std::span<const SuiteEntry> checking_suites();

}  // namespace raceline
