// SPDX-License-Identifier: Apache-2.0
// What threads of several SMs count by: 8 bytes of global memory, read and changed in one piece.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// ld.relaxed.gpu: what the whole device agrees on at some moment. Orders nothing.
__device__ __forceinline__ std::uint64_t ld_relaxed_gpu_global_u64(const std::uint64_t* from) {
    std::uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
    return value;
}

/// atom.relaxed.gpu.cas: `with` takes the place of `expected`, or nothing happens. Returns what was
/// there. Orders nothing, but stands in one order with this thread's other accesses to the address.
__device__ __forceinline__ std::uint64_t atom_relaxed_gpu_global_cas_b64(std::uint64_t* at,
                                                                         std::uint64_t expected,
                                                                         std::uint64_t with) {
    std::uint64_t before;
    asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(before)
                 : "l"(at), "l"(expected), "l"(with)
                 : "memory");
    return before;
}

/// atom.acq_rel.gpu.add: adds, and returns what was there. What this thread wrote or saw before is
/// visible to whoever adds later; what those wrote who added before, to this thread from here on.
__device__ __forceinline__ std::uint64_t atom_acq_rel_gpu_global_add_u64(std::uint64_t* at,
                                                                         std::uint64_t by) {
    std::uint64_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(at), "l"(by)
                 : "memory");
    return before;
}

}  // namespace raceline::ptx
