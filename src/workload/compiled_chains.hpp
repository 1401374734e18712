// SPDX-License-Identifier: Apache-2.0
// Chains that have code of their own: those of one step, which `--fuse` times for longer ones, and
// those that models are made of. Every other chain is read step by step by code that knows none of
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "workload/row_program.hpp"

namespace raceline {

template <class... Steps>
constexpr RowProgram program_of(Steps... steps) {
    const std::array all{steps...};
    return row_program(all);
}

inline constexpr auto compiled_programs = [] {
    using enum RowStep;
    return std::array{program_of(relu),
                      program_of(gelu),
                      program_of(silu),
                      program_of(sigmoid),
                      program_of(tanh),
                      program_of(exp),
                      program_of(square),
                      program_of(add),
                      program_of(sub),
                      program_of(mul),
                      program_of(add, relu),
                      program_of(silu, mul),
                      program_of(gelu, mul),
                      program_of(sigmoid, mul, add),
                      program_of(bias),
                      program_of(gain),
                      program_of(gain, bias),
                      program_of(bias, gelu),
                      program_of(softmax),
                      program_of(layernorm),
                      program_of(rmsnorm),
                      program_of(rope),
                      program_of(add, rmsnorm),
                      program_of(rmsnorm, rope),
                      program_of(add, store, rmsnorm),
                      program_of(add, store, layernorm)};
}();

constexpr bool same(const RowProgram& a, const RowProgram& b) {
    return a.size == b.size && a.result == b.result && a.list == b.list;
}

/// Its place among these, or their number.
constexpr std::size_t compiled_index(const RowProgram& program) {
    return static_cast<std::size_t>(
        std::ranges::find_if(compiled_programs,
                             [&](const RowProgram& known) { return same(known, program); }) -
        compiled_programs.begin());
}

}  // namespace raceline
