// SPDX-License-Identifier: Apache-2.0
#include "probe/gpu_steps.hpp"
#include "probe/probes.hpp"
#include "probe/run_steps.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// An idle chip stands at a fraction of its clock and takes some tenths of a second to leave it.
void ramp_clock(probe::GpuSetting& with) {
    with.timer.sustained(
        [&](int rounds, probe::GpuSpan* span, void* stream) {
            return with.kernels.fma({2 * with.device.units, 512, 8}, rounds, span, stream);
        },
        with.timer.quick() ? 0.1 : 0.5, "");
}

void require_probeable(const Device& device) {
    const std::string reason = cuda::why_unavailable();
    require(reason.empty(), Status::no_device, "{} cannot be probed: {}",
            device.id.empty() ? "a CUDA device" : device.id, reason);
    require(device.kind == DeviceKind::cuda && device.units > 0, Status::invalid_argument,
            "device '{}' is not a CUDA device with its SMs counted; pass the one of live_cuda()",
            device.id);
}

std::vector<Ceiling> run_gpu_steps(const Device& device, const std::vector<probe::GpuStep>& steps,
                                   const ProbeProgress& progress, ProbeEffort effort) {
    const probe::GpuKernels& kernels = probe::gpu_kernels();
    probe::GpuTimer timer(kernels, effort == ProbeEffort::quick);
    probe::GpuSetting setting{device, kernels, timer};
    ramp_clock(setting);
    return probe::run_steps(steps, setting, progress);
}

}  // namespace

std::vector<Ceiling> probe_cuda(const Device& device, const ProbeProgress& progress,
                                ProbeEffort effort) {
    require_probeable(device);
    std::vector<probe::GpuStep> steps;
    probe::append_gpu_memory_steps(device, steps);
    probe::append_gpu_arithmetic_steps(device, steps);
    probe::append_gpu_floor_steps(device, steps);
    probe::append_gpu_l2_steps(device, steps);
    return run_gpu_steps(device, steps, progress, effort);
}

std::vector<Ceiling> probe_cuda_power(const Device& device, const ProbeProgress& progress,
                                      ProbeEffort effort) {
    require_probeable(device);
    std::vector<probe::GpuStep> steps;
    probe::append_gpu_power_steps(device, steps);
    return run_gpu_steps(device, steps, progress, effort);
}

}  // namespace raceline
