// SPDX-License-Identifier: Apache-2.0
// What a container or a systemd slice leaves to this process.
#pragma once

#include <cstdint>
#include <filesystem>

namespace raceline {

struct CgroupLimits {
    double cpus = 0;                ///< quota / period, the smallest on the way up; 0: none
    std::int64_t memory_bytes = 0;  ///< the smallest on the way up; 0: none
};

/// Versions 1 and 2 below `root` ("/" outside tests). Missing files mean no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

}  // namespace raceline
