// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see ampere.cuh.
#pragma once

#include "ampere.cuh"

namespace raceline::ptx {

inline void ldmatrix_x4(std::uint32_t (&d)[4], std::uint32_t address) {
    test::Ampere::get().load_matrices(d, address, false);
}
inline void ldmatrix_x4_trans(std::uint32_t (&d)[4], std::uint32_t address) {
    test::Ampere::get().load_matrices(d, address, true);
}

}  // namespace raceline::ptx
