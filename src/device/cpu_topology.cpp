// SPDX-License-Identifier: Apache-2.0
#include "device/cpu_topology.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sched.h>
#include <set>
#include <utility>

#include "device/cgroup_limits.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

// "48K", "32M": sysfs writes cache sizes with a binary suffix.
std::int64_t binary_size(const std::string& text) {
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (value <= 0) {
        return 0;
    }
    switch (*end) {
        case 'K': return value << 10;
        case 'M': return value << 20;
        case 'G': return value << 30;
        default: return value;
    }
}

fs::path cpu_folder(const fs::path& root, int cpu) {
    return root / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
}

// Hyper-threads of one core share its vector ports: for a ceiling they are one core.
int distinct_cores(const fs::path& root, const std::vector<int>& cpus) {
    std::set<std::string> cores;
    for (const int cpu : cpus) {
        const fs::path topology = cpu_folder(root, cpu) / "topology";
        const std::string core = first_line(topology / "core_id");
        // die_id too: some firmware numbers the cores of each die from 0.
        cores.insert(core.empty() ? fmt::format("cpu{}", cpu)
                                  : first_line(topology / "physical_package_id") + "/" +
                                        first_line(topology / "die_id") + "/" + core);
    }
    return std::max(1, static_cast<int>(cores.size()));
}

struct Cache {
    std::int64_t bytes = 0;
    std::set<std::string> instances;  // by the CPUs that share one
};

// Data and unified caches by level. One level may have instances of their own for each group.
std::map<int, Cache> caches(const fs::path& root, const std::vector<int>& cpus) {
    std::map<int, Cache> levels;
    for (const int cpu : cpus) {
        for (int index = 0; index < 16; ++index) {
            const fs::path folder = cpu_folder(root, cpu) / "cache" / fmt::format("index{}", index);
            const int level = std::atoi(first_line(folder / "level").c_str());
            if (level < 1 || first_line(folder / "type") == "Instruction") {
                continue;
            }
            Cache& cache = levels[level];
            cache.bytes = std::max(cache.bytes, binary_size(first_line(folder / "size")));
            cache.instances.insert(first_line(folder / "shared_cpu_list"));
        }
    }
    return levels;
}

void read_caches(const fs::path& root, const std::vector<int>& cpus, CpuTopology& topology) {
    const std::map<int, Cache> levels = caches(root, cpus);
    if (levels.empty()) {
        return;
    }
    const auto size_of = [&](int level) {
        const auto found = levels.find(level);
        return found == levels.end() ? std::int64_t{0} : found->second.bytes;
    };
    topology.l1_bytes = size_of(1);
    topology.l2_bytes = size_of(2);
    const Cache& last = levels.rbegin()->second;
    topology.llc_bytes = last.bytes * static_cast<std::int64_t>(last.instances.size());
}

// name, and the highest "cpu MHz" of all processors listed
std::pair<std::string, double> read_cpuinfo(const fs::path& path) {
    std::ifstream in(path);
    std::string name, part, implementer;
    double mhz = 0;
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
        const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
        const std::string value = begin == std::string::npos ? "" : line.substr(begin);
        if (key == "model name" && name.empty()) {
            name = value;
        }
        if (key == "CPU implementer") {
            implementer = value;
        }
        if (key == "CPU part") {
            part = value;
        }
        if (key == "cpu MHz") {
            mhz = std::max(mhz, std::strtod(value.c_str(), nullptr));
        }
    }
    // 64-bit Arm names neither vendor nor model, only their numbers.
    if (name.empty() && !part.empty()) {
        name = "arm " + implementer + ":" + part;
    }
    return {name, mhz};
}

double max_clock_hz(const fs::path& root, const std::vector<int>& cpus, double cpuinfo_mhz) {
    double highest = 0;
    for (const int cpu : cpus) {
        const std::string khz = first_line(cpu_folder(root, cpu) / "cpufreq/cpuinfo_max_freq");
        highest = std::max(highest, std::strtod(khz.c_str(), nullptr) * 1e3);
    }
    return highest > 0 ? highest : cpuinfo_mhz * 1e6;
}

std::int64_t memory_total(const fs::path& path) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("MemTotal:")) {
            return std::strtoll(line.c_str() + std::string_view("MemTotal:").size(), nullptr, 10)
                   << 10;
        }
    }
    return 0;
}

}  // namespace

std::vector<int> allowed_cpus() {
    // Machines beyond 1024 CPUs need a larger set: the size is doubled until the call accepts it.
    for (int count = CPU_SETSIZE; count <= (1 << 20); count *= 2) {
        cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
        if (set == nullptr) {
            break;
        }
        const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
        std::vector<int> cpus;
        if (sched_getaffinity(0, size, set) == 0) {
            for (int cpu = 0; cpu < count; ++cpu) {
                if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) {
                    cpus.push_back(cpu);
                }
            }
        }
        CPU_FREE(set);
        if (!cpus.empty()) {
            return cpus;
        }
    }
    return {0};
}

CpuTopology read_cpu_topology(const fs::path& root, const std::vector<int>& cpus) {
    CpuTopology topology;
    const CgroupLimits limits = read_cgroup_limits(root);
    topology.cores = distinct_cores(root, cpus);
    if (limits.cpus > 0) {
        // A quota of 1.5 CPUs stalls two busy threads: only whole ones count.
        topology.cores = std::clamp(static_cast<int>(limits.cpus + 1e-6), 1, topology.cores);
    }
    const auto [name, mhz] = read_cpuinfo(root / "proc/cpuinfo");
    topology.name = name;
    topology.clock_hz = max_clock_hz(root, cpus, mhz);
    topology.memory_bytes = memory_total(root / "proc/meminfo");
    if (limits.memory_bytes > 0 &&
        (topology.memory_bytes == 0 || limits.memory_bytes < topology.memory_bytes)) {
        topology.memory_bytes = limits.memory_bytes;
    }
    read_caches(root, cpus, topology);
    return topology;
}

}  // namespace raceline
