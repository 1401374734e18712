// SPDX-License-Identifier: Apache-2.0
// Devices found on a machine: CPUs from trees of files as Linux writes them, GPUs from the numbers
// that the CUDA runtime gives.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <thread>

#include "device/catalog.hpp"
#include "device/cgroup_limits.hpp"
#include "device/cpu_topology.hpp"
#include "device/cuda_device.hpp"
#include "raceline/error.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

class CpuFiles : public testing::Test {
protected:
    void SetUp() override {
        root_ = fs::temp_directory_path() /
                ("raceline-cpu-" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(root_);
        fs::create_directories(root_);
    }
    void TearDown() override { fs::remove_all(root_); }
    void put(const std::string& path, const std::string& text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << "\n";
    }
    // Eight hyper-threads on four cores: 0 and 4 are one core; two L3 instances of 32 MiB.
    void four_cores() {
        for (int cpu = 0; cpu < 8; ++cpu) {
            const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
            const int core = cpu % 4;
            const std::string pair = std::to_string(core) + "," + std::to_string(core + 4);
            put(folder + "topology/core_id", std::to_string(core));
            put(folder + "topology/physical_package_id", "0");
            put(folder + "cpufreq/cpuinfo_max_freq", "3700000");
            cache(folder, 0, "1", "Data", "48K", pair);
            cache(folder, 1, "1", "Instruction", "32K", pair);
            cache(folder, 2, "2", "Unified", "1024K", pair);
            cache(folder, 3, "3", "Unified", "32M", core < 2 ? "0-1,4-5" : "2-3,6-7");
        }
        put("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU @ 2.4GHz\ncpu MHz\t\t: 2400.5");
        put("proc/meminfo", "MemTotal:       65536000 kB\nMemFree: 1 kB");
    }
    void cache(const std::string& folder, int index, const char* level, const char* type,
               const char* size, const std::string& shared) {
        const std::string at = folder + "cache/index" + std::to_string(index) + "/";
        put(at + "level", level);
        put(at + "type", type);
        put(at + "size", size);
        put(at + "shared_cpu_list", shared);
    }
    fs::path root_;
};

TEST_F(CpuFiles, HyperThreadsAreOneCoreAndCachesAreCountedByInstance) {
    four_cores();
    const CpuTopology found = read_cpu_topology(root_, {0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(found.name, "A CPU @ 2.4GHz");
    EXPECT_EQ(found.cores, 4);
    EXPECT_EQ(found.clock_hz, 3.7e9);
    EXPECT_EQ(found.l1_bytes, 48 << 10);
    EXPECT_EQ(found.l2_bytes, 1 << 20);
    EXPECT_EQ(found.llc_bytes, 64 << 20);
    EXPECT_EQ(found.memory_bytes, std::int64_t{65536000} << 10);
}

TEST_F(CpuFiles, AffinityLeavesItsCoresAndTheirCaches) {
    four_cores();
    const CpuTopology found = read_cpu_topology(root_, {0, 1, 4});
    EXPECT_EQ(found.cores, 2);
    EXPECT_EQ(found.llc_bytes, 32 << 20);
}

TEST_F(CpuFiles, QuotaOfAnyGroupAboveCounts) {
    four_cores();
    put("proc/self/cgroup", "0::/a/b");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000");
    EXPECT_EQ(read_cpu_topology(root_, {0, 1, 2, 3}).cores, 4);
    put("sys/fs/cgroup/a/cpu.max", "250000 100000");
    EXPECT_EQ(read_cpu_topology(root_, {0, 1, 2, 3}).cores, 2);
    put("sys/fs/cgroup/cpu.max", "50000 100000");
    EXPECT_EQ(read_cpu_topology(root_, {0, 1, 2, 3}).cores, 1);
}

TEST_F(CpuFiles, MemoryLimitOfTheGroupCounts) {
    four_cores();
    put("proc/self/cgroup", "0::/");
    put("sys/fs/cgroup/memory.max", "1073741824");
    EXPECT_EQ(read_cpu_topology(root_, {0}).memory_bytes, 1 << 30);
    put("sys/fs/cgroup/memory.max", "max");
    EXPECT_EQ(read_cpu_topology(root_, {0}).memory_bytes, std::int64_t{65536000} << 10);
}

TEST_F(CpuFiles, FirstVersionOfControlGroups) {
    put("proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/x\n0::/");
    put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "300000");
    put("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
    put("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712");
    CgroupLimits limits = read_cgroup_limits(root_);
    EXPECT_DOUBLE_EQ(limits.cpus, 3);
    EXPECT_EQ(limits.memory_bytes, 0) << "next to 2^63 is how version 1 says: none";
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096");
    EXPECT_EQ(read_cgroup_limits(root_).memory_bytes, 4096);
}

TEST_F(CpuFiles, NothingReadableLeavesOneCoreForEachCpu) {
    const CpuTopology found = read_cpu_topology(root_, {0, 1, 2});
    EXPECT_EQ(found.cores, 3);
    EXPECT_EQ(found.clock_hz, 0);
    EXPECT_EQ(found.llc_bytes, 0);
    EXPECT_EQ(found.name, "");
}

TEST_F(CpuFiles, ArmNamesOnlyNumbersAndClockFallsBack) {
    put("proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\ncpu MHz\t: 2000");
    const CpuTopology found = read_cpu_topology(root_, {0});
    EXPECT_EQ(found.name, "arm 0x41:0xd4f");
    EXPECT_EQ(found.clock_hz, 2e9);
}

TEST(LiveCpu, IsThisMachine) {
    const Device device = live_cpu();
    EXPECT_EQ(device.id, "cpu");
    EXPECT_TRUE(device.live);
    EXPECT_GE(device.units, 1);
    EXPECT_LE(device.units, static_cast<int>(std::thread::hardware_concurrency()));
    EXPECT_GE(device.simd_bits, 128);
    EXPECT_GT(device.memory_bytes, std::int64_t{1} << 28);
    EXPECT_GT(device.l1_bytes, 8 << 10);
    EXPECT_GE(device.llc_bytes, device.l2_bytes);
    EXPECT_EQ(device.find("flop.dot.bf16").has_value(), device.has_bf16_dot);
    EXPECT_EQ(device.find("flop.amx.bf16").has_value(), device.has_bf16_tiles);
    const Rate& fma = device.rates.at("flop.fma.fp32");
    EXPECT_NEAR(fma.value, device.units * fma.clock_hz * device.simd_bits / 32 * 4, 1);
}

CudaProperties gpu(const char* name, int capability, int units) {
    CudaProperties properties;
    std::strncpy(properties.name, name, sizeof(properties.name) - 1);
    properties.capability = capability;
    properties.units = units;
    properties.clock_hz = 1.98e9;
    properties.memory_clock_hz = 3.2e9;
    properties.memory_bus_bits = 6144;
    properties.memory_bytes = std::int64_t{139} << 30;
    properties.l2_bytes = 60 << 20;
    return properties;
}

TEST(CudaDevice, RuntimeNamesFindTheirFile) {
    const std::pair<const char*, const char*> names[] = {
        {"NVIDIA H200", "h200"},
        {"NVIDIA H100 PCIe", "h100-pcie"},
        {"NVIDIA H100 80GB HBM3", "h100-sxm"},
        {"NVIDIA GH200 480GB", "gh200"},
        {"NVIDIA A100-SXM4-40GB", "a100-40"},
        {"NVIDIA A100-SXM4-80GB", "a100-80"},
        {"Tesla T4", "t4"},
        {"Tesla V100-SXM2-16GB", "v100"},
        {"NVIDIA L4", "l4"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA A10", "a10"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA B200", "b200"},
        {"NVIDIA B300 SXM6 AC", "b300"},
    };
    for (const auto& [name, id] : names) {
        EXPECT_EQ(device_id_of(name), id) << name;
    }
    // Other clocks or memories: each must be derived, not passed for its sibling.
    for (const char* name : {"NVIDIA H200 NVL", "NVIDIA H100 NVL", "NVIDIA A100 80GB PCIe",
                             "NVIDIA A10G", "NVIDIA L40", "NVIDIA GeForce RTX 4090 D",
                             "NVIDIA H200 MIG 1g.18gb", "GeForce RTX 4090 Laptop GPU", ""}) {
        EXPECT_FALSE(device_id_of(name).has_value()) << name;
    }
}

TEST(CudaDevice, KnownOneKeepsDatasheetRatesAndTakesLiveSizes) {
    const Device device = cuda_device(gpu("NVIDIA H200", 90, 132), "580.1");
    EXPECT_EQ(device.id, "h200");
    EXPECT_EQ(device.driver, "580.1");
    EXPECT_TRUE(device.live);
    EXPECT_EQ(device.memory_bytes, std::int64_t{139} << 30);
    EXPECT_EQ(device.l2_bytes, 60 << 20);
    EXPECT_EQ(device.rates_id, datasheet_device("h200").rates_id);
}

TEST(CudaDevice, FewerUnitsScaleWhatTheyDoAndNothingElse) {
    const Device whole = datasheet_device("h200");
    const Device half = cuda_device(gpu("NVIDIA H200", 90, 66), "580.1");
    EXPECT_DOUBLE_EQ(half.rate("flop.wgmma.bf16"), whole.rate("flop.wgmma.bf16") / 2);
    EXPECT_DOUBLE_EQ(half.rate("op.ex2"), whole.rate("op.ex2") / 2);
    EXPECT_EQ(half.rate("byte.dram_read"), whole.rate("byte.dram_read"));
    EXPECT_EQ(half.rate("latency.dram"), whole.rate("latency.dram"));
}

TEST(CudaDevice, UnknownOneIsDerivedFromItsCapability) {
    const Device device = cuda_device(gpu("NVIDIA H200 NVL", 90, 132), "580.1");
    EXPECT_EQ(device.id, "cuda");
    EXPECT_NEAR(device.rate("flop.wgmma.bf16"), 132 * 4096 * 1.98e9, 1);
    EXPECT_NEAR(device.rate("byte.dram_read"), 4.9152e12, 1);
    const Device known = datasheet_device("h200");
    // Whatever can be predicted on the known sibling can be predicted on the unknown one.
    for (const auto& [resource, rate] : known.rates) {
        if (resource.starts_with("latency.") || resource == "flop.mma.fp64") {
            continue;
        }
        EXPECT_TRUE(device.find(resource).has_value()) << resource;
    }
    EXPECT_EQ(device.rate("flop.mma.e4m3"), device.rate("flop.mma.fp16"));
}

// The tables of capabilities and the files in devices/ must say the same of every card.
TEST(CudaDevice, CapabilityTableAgreesWithTheFiles) {
    for (const std::string& id : device_ids()) {
        const Device known = datasheet_device(id);
        if (known.kind != DeviceKind::cuda) {
            continue;
        }
        const bool consumer = known.name.find("GeForce") != std::string::npos;
        const Device derived =
            cuda_device(gpu(consumer ? "NVIDIA GeForce unheard of" : "unheard of",
                            known.compute_capability, known.units),
                        "1");
        for (const auto& [resource, rate] : known.rates) {
            const auto found = derived.rates.find(resource);
            if (found == derived.rates.end() || resource == "byte.l2") {
                continue;
            }
            EXPECT_NEAR(found->second.per_clock_per_unit, rate.per_clock_per_unit,
                        0.001 * rate.per_clock_per_unit)
                << id << " " << resource;
        }
    }
}

TEST(CudaDevice, DriverIsReadFromTheKernelModulesLine) {
    EXPECT_EQ(driver_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n"
                        "GCC version:  gcc version 12.2.0"),
              "580.95.05");
    EXPECT_EQ(driver_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  "
                        "Release Build  (x@y)"),
              "570.86.15");
    EXPECT_EQ(driver_in("GCC version:  gcc version 12.2.0"), "");
    EXPECT_EQ(driver_in(""), "");
}

TEST(LiveCuda, NeverThrowsWithoutADriver) {
    std::optional<Device> device;
    EXPECT_NO_THROW(device = live_cuda());
    if (device) {
        EXPECT_TRUE(device->live);
        EXPECT_GT(device->rate("flop.fma.fp32"), 0);
    }
}

TEST(LiveDevice, ThreadsBeyondTheCoresAddNothing) {
    Device four = datasheet_device("cpu");
    four.units = 4;
    const double fma = four.rate("flop.fma.fp32");
    EXPECT_DOUBLE_EQ(restrict_units(four, 2).rate("flop.fma.fp32"), fma / 2);
    EXPECT_DOUBLE_EQ(restrict_units(four, 8).rate("flop.fma.fp32"), 2 * fma);
    four.live = true;
    const Device eight = restrict_units(four, 8);
    EXPECT_EQ(eight.units, 8);
    EXPECT_DOUBLE_EQ(eight.rate("flop.fma.fp32"), fma);
    EXPECT_DOUBLE_EQ(restrict_units(four, 2).rate("flop.fma.fp32"), fma / 2);
}

TEST(LiveDevice, MoreThreadsThanLogicalCpusAreRefused) {
    const int cpus = static_cast<int>(allowed_cpus().size());
    const Device live = live_cpu();
    EXPECT_NO_THROW(require_logical_cpus(live, 0, "--threads"));
    EXPECT_NO_THROW(require_logical_cpus(live, cpus, "--threads"));
    EXPECT_NO_THROW(require_logical_cpus(datasheet_device("cpu"), cpus + 1, "--threads"));
    try {
        require_logical_cpus(live, cpus + 1, "--threads");
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        EXPECT_THAT(error.what(), testing::StartsWith("--threads " + std::to_string(cpus + 1)));
        EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(cpus) + " logical CPUs"));
    }
}

}  // namespace
}  // namespace raceline
