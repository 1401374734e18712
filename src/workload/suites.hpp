// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.hpp"

namespace raceline {

struct Suite {
    std::string name;
    std::string summary;
    std::vector<Workload> workloads;
};

/// What a suite is for: to compare and publish; to be measured by a script of tools/; to be checked
/// by one.
enum class SuiteGroup { benchmark, measurement, check };
inline constexpr std::array suite_groups{SuiteGroup::benchmark, SuiteGroup::measurement,
                                         SuiteGroup::check};

/// One of suite_names(); NAME:HEADDIM, of such a suite the shapes whose head dim is at most HEADDIM
/// and over half of it; random:SEED (20 shapes that are in no benchmark suite); serving:SEED (20
/// batches of decode steps, of up to 16 GB); operations:SEED (20 operations beside attention) and
/// operations-any:SEED (20 of any size); or layer:MODEL:prefill=TOKENS and
/// layer:MODEL:decode=SEQUENCESxKEYS (operation_suites.hpp). Capital letters do not matter. A suite
/// has types of its own unless `dtype` overrides all of them. Unknown names throw
/// Error(invalid_argument) with the nearest one.
Suite make_suite(std::string_view name, std::optional<DType> dtype = std::nullopt);
/// The names that make_suite takes as they stand.
std::vector<std::string> suite_names();
/// Those of one group.
std::vector<std::string> suite_names(SuiteGroup group);

}  // namespace raceline
