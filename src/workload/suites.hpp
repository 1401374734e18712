// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// quickstart ladder from-scratch ladder-splits ladder-gap training-16k llama3-8b llama3-70b
/// deepseek-v3 gpt-oss, or random:SEED (20 shapes that are in no other suite). bf16 unless the
/// suite mixes dtypes itself or `dtype` overrides all of them. Unknown names throw
/// Error(invalid_argument) with the nearest one.
Suite make_suite(std::string_view name, std::optional<DType> dtype = std::nullopt);
/// The names that make_suite takes as they stand: all of the above but random:SEED.
std::vector<std::string> suite_names();

}  // namespace raceline
