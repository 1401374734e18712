// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

template <int count>
void wgmma_k32_e4m3_ss(float (&d)[count], std::uint64_t a, std::uint64_t b, bool accumulate) {
    test::Machine::get().start_product({.type = test::Operand::e4m3,
                                        .accumulate = accumulate,
                                        .columns = 2 * count,
                                        .a = a,
                                        .b = b},
                                       d, nullptr);
}
template <int count>
void wgmma_k32_e4m3_rs(float (&d)[count], const std::uint32_t (&a)[4], std::uint64_t b,
                       bool accumulate) {
    test::Machine::get().start_product({.a_in_registers = true,
                                        .type = test::Operand::e4m3,
                                        .accumulate = accumulate,
                                        .columns = 2 * count,
                                        .b = b},
                                       d, a);
}

}  // namespace raceline::ptx
