// SPDX-License-Identifier: Apache-2.0
#include "device/cgroup_limits.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace raceline {
namespace {

namespace fs = std::filesystem;

// A number in the first field, or nothing where the kernel writes "max" or the file is absent.
double number_in(const fs::path& path) {
    std::ifstream in(path);
    double value = 0;
    return in >> value && value > 0 ? value : 0;
}

double smaller(double limit, double candidate) {
    return candidate > 0 && (limit <= 0 || candidate < limit) ? candidate : limit;
}

// Version 2: "quota period" in one file, "max period" without a quota.
double quota_v2(const fs::path& folder) {
    std::ifstream in(folder / "cpu.max");
    double quota = 0, period = 0;
    return in >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

// Version 1: two files, quota -1 without one.
double quota_v1(const fs::path& folder) {
    const double quota = number_in(folder / "cpu.cfs_quota_us");
    const double period = number_in(folder / "cpu.cfs_period_us");
    return quota > 0 && period > 0 ? quota / period : 0;
}

// The group of this process and all above it, down from `mount`. A group named by /proc that is not
// under the mount (a container that sees the host's path) leaves the mount itself.
std::vector<fs::path> chain(const fs::path& mount, const std::string& group) {
    std::vector<fs::path> folders{mount};
    fs::path folder = mount;
    for (const fs::path& part : fs::path(group).relative_path()) {
        folder /= part;
        folders.push_back(folder);
    }
    return folders;
}

bool names_controller(const std::string& list, const std::string& controller) {
    return ("," + list + ",").find("," + controller + ",") != std::string::npos;
}

void read_group(const fs::path& mounts, const std::string& controllers, const std::string& group,
                CgroupLimits& limits) {
    double memory = static_cast<double>(limits.memory_bytes);
    if (controllers.empty()) {
        for (const fs::path& folder : chain(mounts, group)) {
            limits.cpus = smaller(limits.cpus, quota_v2(folder));
            memory = smaller(memory, number_in(folder / "memory.max"));
        }
    }
    if (names_controller(controllers, "cpu")) {
        for (const char* mount : {"cpu", "cpu,cpuacct"}) {
            for (const fs::path& folder : chain(mounts / mount, group)) {
                limits.cpus = smaller(limits.cpus, quota_v1(folder));
            }
        }
    }
    if (names_controller(controllers, "memory")) {
        for (const fs::path& folder : chain(mounts / "memory", group)) {
            memory = smaller(memory, number_in(folder / "memory.limit_in_bytes"));
        }
    }
    // Version 1 writes "no limit" as a number next to 2^63.
    limits.memory_bytes = memory < 0x1p60 ? static_cast<std::int64_t>(memory) : 0;
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
    CgroupLimits limits;
    std::ifstream in(root / "proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {  // number:controllers:group
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        read_group(root / "sys/fs/cgroup", line.substr(first + 1, second - first - 1),
                   line.substr(second + 1), limits);
    }
    return limits;
}

}  // namespace raceline
