// SPDX-License-Identifier: Apache-2.0
// The one place where a status of the CUDA runtime becomes an error of ours.
#pragma once

#include <cuda_runtime.h>
#include <string>

#include "raceline/error.hpp"

namespace raceline {

/// Throws Error(internal): "WHAT failed: cudaErrorX (sentence)". The runtime forgets the error, so
/// that the next call does not report it again.
inline void check_cuda(cudaError_t status, const std::string& what) {
    if (status != cudaSuccess) {
        cudaGetLastError();
        throw Error(Status::internal, what + " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

}  // namespace raceline
