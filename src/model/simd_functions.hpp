// SPDX-License-Identifier: Apache-2.0
// What elementwise functions cost on a CPU: plain lane operations of floats an element (`op.simd`),
// by the code of cpu/simd/elements-inl.hpp. A library's is taken to be as long.
#pragma once

#include "model/constant.hpp"

namespace raceline {

/// A division of a vector of floats keeps its unit busy for so many cycles, in which two plain
/// operations could start.
inline constexpr Constant division_slots =
    assumed("cpu.division_slots", 10,
            "a vector of floats is divided in about five cycles on server cores of the last years");

inline double exp_slots() {
    return counted(19, "exp, of which eight operations are of integers");
}
inline double tanh_slots() {
    return counted(17, "tanh but for its division") + division_slots;
}
/// Of sigmoid, and of silu, whose product takes the place of the one in the quotient.
inline double sigmoid_slots() {
    return counted(22, "exp, sum, quotient") + division_slots;
}
inline double gelu_slots() {
    return counted(25, "exp, its argument, sum, quotient") + division_slots;
}

}  // namespace raceline
