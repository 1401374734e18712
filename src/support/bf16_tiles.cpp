// SPDX-License-Identifier: Apache-2.0
#include "support/bf16_tiles.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace raceline {

#if defined(__x86_64__) && defined(__linux__)
namespace {

// CPUID leaf 7, EDX: Intel SDM vol. 2, "CPUID".
constexpr unsigned bit_of_bf16 = 1U << 22;
constexpr unsigned bit_of_tiles = 1U << 24;
// A process asks before it may touch the 8 KiB of tiles: Documentation/arch/x86/xstate.rst.
constexpr long ask_for_state = 0x1023;
constexpr long state_of_tiles = 18;

bool ask() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bit_of_bf16) != 0 &&
           (d & bit_of_tiles) != 0 && syscall(SYS_arch_prctl, ask_for_state, state_of_tiles) == 0;
}

}  // namespace

bool may_use_bf16_tiles() {
    static const bool may = ask();
    return may;
}
#else
bool may_use_bf16_tiles() {
    return false;
}
#endif

}  // namespace raceline
