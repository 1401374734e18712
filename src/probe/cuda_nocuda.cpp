// SPDX-License-Identifier: Apache-2.0
#include "probe/probes.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

[[noreturn]] void refuse(const Device& device) {
    fail(Status::no_device,
         "{} cannot be probed: this raceline was built without CUDA; build it where nvcc is found",
         device.id.empty() ? "a CUDA device" : device.id);
}

}  // namespace

std::vector<Ceiling> probe_cuda(const Device& device, const ProbeProgress& /*progress*/,
                                ProbeEffort /*effort*/) {
    refuse(device);
}

std::vector<Ceiling> probe_cuda_power(const Device& device, const ProbeProgress& /*progress*/,
                                      ProbeEffort /*effort*/) {
    refuse(device);
}

}  // namespace raceline
