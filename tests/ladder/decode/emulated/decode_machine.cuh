// SPDX-License-Identifier: Apache-2.0
// The emulated GPU of tests/kernels/emulated with what the rungs of the decode ladder use beside.
#pragma once

#include "machine.cuh"

namespace raceline::test {

/// What `extern __shared__` names: one block for all kernels, since one CTA runs at a time.
template <class T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(shared_memory()());
}

}  // namespace raceline::test
