// SPDX-License-Identifier: Apache-2.0
// What the rungs need beyond the machine on which simt and naive are emulated.
#pragma once

#include "tests/kernels/emulated/machine.cuh"

namespace raceline::test {

/// What `extern __shared__` names in every rung; one CTA runs at a time.
inline float4 dynamic_shared[most_shared_bytes / sizeof(float4) + guard_floats];

}  // namespace raceline::test

// A store with the default policy.
template <class T>
void __stwb(T* to, T value) {
    *to = value;
}
