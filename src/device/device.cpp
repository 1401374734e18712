// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include "support/check.hpp"

namespace raceline {

std::optional<double> Device::find(std::string_view resource) const {
    const auto found = rates.find(resource);
    return found == rates.end() ? std::nullopt : std::optional(found->second.value);
}

double Device::rate(std::string_view resource) const {
    const auto found = rates.find(resource);
    require(found != rates.end(), Status::unsupported,
            "device {} ({}) has no rate for {}: the engine does not exist there, or no source "
            "states how fast it is",
            id, name, resource);
    return found->second.value;
}

}  // namespace raceline
