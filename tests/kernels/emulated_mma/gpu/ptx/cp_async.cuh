// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see ampere.cuh.
#pragma once

#include "ampere.cuh"

namespace raceline::ptx {

inline void cp_async_cg_16(std::uint32_t to, const void* from, int bytes) {
    test::Ampere::get().copy_late(to, from, bytes);
}
inline void cp_async_cg_l2_64b_16(std::uint32_t to, const void* from, int bytes) {
    cp_async_cg_16(to, from, bytes);
}
inline void cp_async_ca_4(std::uint32_t to, const void* from, int bytes) {
    test::Ampere::get().copy_late(to, from, bytes, 4);
}
inline void cp_async_commit_group() {
    test::Ampere::get().commit_copies();
}
template <int pending>
void cp_async_wait_group() {
    test::Ampere::get().wait_copies(pending);
}

}  // namespace raceline::ptx
