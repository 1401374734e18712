// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

template <int count>
void start_ss(test::Operand type, float (&d)[count], std::uint64_t a, std::uint64_t b,
              bool accumulate) {
    test::Machine::get().start_product(
        {.type = type, .accumulate = accumulate, .columns = 2 * count, .a = a, .b = b}, d, nullptr);
}
template <int count>
void start_rs_t(test::Operand type, float (&d)[count], const std::uint32_t (&a)[4], std::uint64_t b,
                bool accumulate) {
    test::Machine::get().start_product({.a_in_registers = true,
                                        .type = type,
                                        .accumulate = accumulate,
                                        .columns = 2 * count,
                                        .b = b},
                                       d, a);
}
template <int count>
void wgmma_k16_bf16_ss(float (&d)[count], std::uint64_t a, std::uint64_t b, bool accumulate) {
    start_ss(test::Operand::bf16, d, a, b, accumulate);
}
template <int count>
void wgmma_k16_f16_ss(float (&d)[count], std::uint64_t a, std::uint64_t b, bool accumulate) {
    start_ss(test::Operand::fp16, d, a, b, accumulate);
}
template <int count>
void wgmma_k16_bf16_rs_t(float (&d)[count], const std::uint32_t (&a)[4], std::uint64_t b,
                         bool accumulate) {
    start_rs_t(test::Operand::bf16, d, a, b, accumulate);
}
template <int count>
void wgmma_k16_f16_rs_t(float (&d)[count], const std::uint32_t (&a)[4], std::uint64_t b,
                        bool accumulate) {
    start_rs_t(test::Operand::fp16, d, a, b, accumulate);
}

}  // namespace raceline::ptx
