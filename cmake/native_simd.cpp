// SPDX-License-Identifier: Apache-2.0
// Prints the best SIMD target of this machine among those that kernels are written for, or nothing
// where Highway compiles only one anyway.
#include <cstdio>
#include <hwy/targets.h>

int main() {
#if defined(__x86_64__)
    const auto targets = hwy::SupportedTargets();
    std::fputs((targets & HWY_AVX3) != 0   ? "AVX3"
               : (targets & HWY_AVX2) != 0 ? "AVX2"
               : (targets & HWY_SSE4) != 0 ? "SSE4"
                                           : "",
               stdout);
#endif
    return 0;
}
