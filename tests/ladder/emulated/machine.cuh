// SPDX-License-Identifier: Apache-2.0
// What the rungs need beyond the machine on which simt and naive are emulated.
#pragma once

#include "tests/kernels/emulated/machine.cuh"

// A store with the default policy.
template <class T>
void __stwb(T* to, T value) {
    *to = value;
}
