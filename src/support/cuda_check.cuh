// SPDX-License-Identifier: Apache-2.0
// The one place where a status of the CUDA runtime becomes an error of ours.
#pragma once

#include <cuda_runtime.h>
#include <string>
#include <string_view>

#include "raceline/error.hpp"

namespace raceline {

/// Throws Error(internal): "<who><what> failed: cudaErrorX (sentence)". The runtime forgets the
/// error, so that the next call does not report it again.
inline void check_cuda(cudaError_t status, std::string_view who, std::string_view what = {}) {
    if (status != cudaSuccess) {
        cudaGetLastError();
        throw Error(Status::internal, std::string(who) + std::string(what) +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

}  // namespace raceline
