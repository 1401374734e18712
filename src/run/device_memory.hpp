// SPDX-License-Identifier: Apache-2.0
// Host arrays on the device, and typed addresses of what lies there.
#pragma once

#include <vector>

#include "timing/cuda_runtime.hpp"

namespace raceline {

/// A copy of the values on the current device.
template <class T>
cuda::DeviceBuffer on_device(const std::vector<T>& values) {
    cuda::DeviceBuffer buffer(values.size() * sizeof(T));
    if (!values.empty()) {
        cuda::upload(buffer.data(), values.data(), buffer.bytes());
    }
    return buffer;
}

/// Of the first element of a buffer that holds T.
template <class T>
T* address(const cuda::DeviceBuffer& buffer) {
    return reinterpret_cast<T*>(buffer.data());
}

}  // namespace raceline
