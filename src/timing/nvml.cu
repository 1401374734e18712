// SPDX-License-Identifier: Apache-2.0
// NVML by dlopen. The few functions used are declared here, from the NVML API reference (their
// signatures are frozen by their _v2 and unversioned names), so that no header is needed.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "timing/cuda_runtime.hpp"

namespace raceline::cuda {

struct Nvml::Library {
    using NvmlDevice = void*;
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*by_pci)(const char*, NvmlDevice*) = nullptr;
    int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
    int (*power)(NvmlDevice, unsigned*) = nullptr;
    int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
    int (*energy)(NvmlDevice, unsigned long long*) = nullptr;
    int (*limit)(NvmlDevice, unsigned*) = nullptr;
    int (*processes)(NvmlDevice, unsigned*, void*) = nullptr;
    void* handle = nullptr;
    NvmlDevice device = nullptr;
    bool ready = false;

    template <class F>
    bool find(F& function, const char* name) {
        function = reinterpret_cast<F>(dlsym(handle, name));
        return function != nullptr;
    }
};

Nvml::Nvml() : library_(std::make_unique<Library>()) {
    Library& l = *library_;
    l.handle = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (l.handle == nullptr) {
        return;
    }
    const bool found = l.find(l.init, "nvmlInit_v2") && l.find(l.shutdown, "nvmlShutdown") &&
                       l.find(l.by_pci, "nvmlDeviceGetHandleByPciBusId_v2") &&
                       l.find(l.clock, "nvmlDeviceGetClockInfo") &&
                       l.find(l.power, "nvmlDeviceGetPowerUsage") &&
                       l.find(l.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    l.find(l.energy, "nvmlDeviceGetTotalEnergyConsumption");  // from Volta on
    l.find(l.limit, "nvmlDeviceGetEnforcedPowerLimit");
    l.find(l.processes, "nvmlDeviceGetComputeRunningProcesses_v3");  // newer drivers
    if (!found || l.init() != 0) {
        return;
    }
    // NVML counts all devices of the machine, CUDA only the visible ones: the PCI address joins.
    int current = 0;
    char address[32] = {};
    l.ready = cudaGetDevice(&current) == cudaSuccess &&
              cudaDeviceGetPCIBusId(address, sizeof(address), current) == cudaSuccess &&
              l.by_pci(address, &l.device) == 0;
    if (!l.ready) {
        cudaGetLastError();
        l.shutdown();
    }
}

Nvml::~Nvml() {
    if (library_->ready) {
        library_->shutdown();
    }
    if (library_->handle != nullptr) {
        dlclose(library_->handle);
    }
}

ClockState Nvml::read() const {
    ClockState state;
    const Library& l = *library_;
    if (!l.ready) {
        return state;
    }
    constexpr int clock_sm = 1;
    // Software power cap, hardware slowdown, software and hardware thermal, power brake.
    constexpr unsigned long long slowed = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
    unsigned value = 0;
    if (l.clock(l.device, clock_sm, &value) == 0) {
        state.sm_clock_hz = value * 1e6;
    }
    if (l.power(l.device, &value) == 0) {
        state.power_w = value * 1e-3;
    }
    unsigned long long reasons = 0;
    if (l.reasons(l.device, &reasons) == 0) {
        constexpr unsigned long long power_cap = 0x4;
        state.throttled = (reasons & slowed) != 0;
        state.slowed = (reasons & slowed & ~power_cap) != 0;
    }
    return state;
}

double Nvml::energy_j() const {
    const Library& l = *library_;
    unsigned long long millijoules = 0;
    const bool told = l.ready && l.energy != nullptr && l.energy(l.device, &millijoules) == 0;
    return told ? static_cast<double>(millijoules) * 1e-3 : 0;
}

double Nvml::power_limit_w() const {
    const Library& l = *library_;
    unsigned milliwatts = 0;
    const bool told = l.ready && l.limit != nullptr && l.limit(l.device, &milliwatts) == 0;
    return told ? milliwatts * 1e-3 : 0;
}

int Nvml::other_processes() const {
    const Library& l = *library_;
    if (!l.ready || l.processes == nullptr) {
        return 0;
    }
    // Without room for the list the call fails, but says how long the list is.
    unsigned count = 0;
    l.processes(l.device, &count, nullptr);
    return count > 1 ? static_cast<int>(count) - 1 : 0;
}

}  // namespace raceline::cuda
