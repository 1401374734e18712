// SPDX-License-Identifier: Apache-2.0
// What the operating system says about the CPU: sizes only, from /proc, /sys and the cgroup.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace raceline {

struct CpuTopology {
    std::string name;     ///< "AMD EPYC 9654 96-Core Processor"; "" if the system does not say
    int cores = 1;        ///< this process may use: affinity, hyper-threads counted once, CPU quota
    double clock_hz = 0;  ///< highest that cpufreq or /proc/cpuinfo names; 0: neither does
    std::int64_t l1_bytes = 0;      ///< data cache of a core
    std::int64_t l2_bytes = 0;      ///< of a core
    std::int64_t llc_bytes = 0;     ///< last level, all instances that these CPUs reach
    std::int64_t memory_bytes = 0;  ///< of the machine, or the cgroup's limit if lower
};

/// Logical CPUs this process may run on (sched_getaffinity), ascending; at least one.
std::vector<int> allowed_cpus();

/// Reads the files below `root` ("/" outside tests). Missing ones leave 0; never throws for them.
CpuTopology read_cpu_topology(const std::filesystem::path& root, const std::vector<int>& cpus);

}  // namespace raceline
