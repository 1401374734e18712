// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: fibers of one thread, so nothing comes between.
#pragma once

#include <cstdint>

namespace raceline::ptx {

inline std::uint64_t ld_relaxed_gpu_global_u64(const std::uint64_t* from) {
    return *from;
}
inline std::uint64_t atom_relaxed_gpu_global_cas_b64(std::uint64_t* at, std::uint64_t expected,
                                                     std::uint64_t with) {
    const std::uint64_t before = *at;
    *at = before == expected ? with : before;
    return before;
}
inline std::uint64_t atom_acq_rel_gpu_global_add_u64(std::uint64_t* at, std::uint64_t by) {
    const std::uint64_t before = *at;
    *at += by;
    return before;
}

}  // namespace raceline::ptx
