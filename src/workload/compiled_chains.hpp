// SPDX-License-Identifier: Apache-2.0
// Chains that have code of their own: those of one step, which `--fuse` times for longer ones, and
// those that models are made of. Every other chain is read step by step by code that knows none of
// them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

#include "workload/row_program.hpp"

namespace raceline {

constexpr RowProgram program_of_steps(std::initializer_list<RowStep> steps) {
    return row_program({steps.begin(), steps.size()});
}

inline constexpr auto compiled_programs = [] {
    using enum RowStep;
    return std::array{
        program_of_steps({relu}),
        program_of_steps({gelu}),
        program_of_steps({silu}),
        program_of_steps({sigmoid}),
        program_of_steps({tanh}),
        program_of_steps({exp}),
        program_of_steps({square}),
        program_of_steps({add}),
        program_of_steps({sub}),
        program_of_steps({mul}),
        program_of_steps({add, relu}),
        program_of_steps({silu, mul}),
        program_of_steps({gelu, mul}),
        program_of_steps({sigmoid, mul, add}),
        program_of_steps({bias}),
        program_of_steps({gain}),
        program_of_steps({gain, bias}),
        program_of_steps({bias, gelu}),
        program_of_steps({softmax}),
        program_of_steps({layernorm}),
        program_of_steps({rmsnorm}),
        program_of_steps({rope}),
        program_of_steps({add, rmsnorm}),
        program_of_steps({rmsnorm, rope}),
        program_of_steps({add, store, rmsnorm}),
        program_of_steps({add, store, layernorm}),
    };
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
