// SPDX-License-Identifier: Apache-2.0
// Chains of steps on the rows of a matrix: what each step reads, writes and computes. Host and
// device code, the float64 answer and the counts read this one table. A chain holds one row after
// the other in fp32 from its first step to its last; only its operands and results touch memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace raceline {

/// The numbers are OperationArgs::codes of a launch.
enum class RowStep : std::int32_t {
    relu,
    gelu,
    silu,
    sigmoid,
    tanh,
    exp,
    square,
    add,
    sub,
    mul,
    bias,
    gain,
    softmax,
    rmsnorm,
    layernorm,
    rope,
    store
};

/// What a step reads beside the row itself. matrix: a row of a matrix of the same size. vector: one
/// row for all rows. two_vectors: a gain and a bias. angles: cosines and sines of the row's
/// position. result: nothing; it writes the row as it stands.
enum class RowOperand : std::int32_t { none, matrix, vector, two_vectors, angles, result };

struct RowStepForm {
    RowStep step;
    std::string_view name;
    RowOperand operand;
    /// Sums or maxima over the whole row, before any element can go on.
    int reductions;
    /// Floating-point operations an element, as the definition is written; a division, a root, an
    /// exponential and a comparison count as one each.
    int operations;
};

/// In the order of the codes. gelu is its form with tanh (Hendrycks and Gimpel, Gaussian Error
/// Linear Units, 2016), as in cuBLASLt's and oneDNN's epilogues; rope turns the halves of a head
/// against each other (Su et al., RoFormer, 2021, in the order of Llama's published code).
inline constexpr std::array row_steps{
    RowStepForm{RowStep::relu, "relu", RowOperand::none, 0, 1},
    RowStepForm{RowStep::gelu, "gelu", RowOperand::none, 0, 9},
    RowStepForm{RowStep::silu, "silu", RowOperand::none, 0, 4},
    RowStepForm{RowStep::sigmoid, "sigmoid", RowOperand::none, 0, 3},
    RowStepForm{RowStep::tanh, "tanh", RowOperand::none, 0, 1},
    RowStepForm{RowStep::exp, "exp", RowOperand::none, 0, 1},
    RowStepForm{RowStep::square, "square", RowOperand::none, 0, 1},
    RowStepForm{RowStep::add, "add", RowOperand::matrix, 0, 1},
    RowStepForm{RowStep::sub, "sub", RowOperand::matrix, 0, 1},
    RowStepForm{RowStep::mul, "mul", RowOperand::matrix, 0, 1},
    RowStepForm{RowStep::bias, "bias", RowOperand::vector, 0, 1},
    RowStepForm{RowStep::gain, "gain", RowOperand::vector, 0, 1},
    RowStepForm{RowStep::softmax, "softmax", RowOperand::none, 2, 5},
    RowStepForm{RowStep::rmsnorm, "rmsnorm", RowOperand::vector, 1, 4},
    RowStepForm{RowStep::layernorm, "layernorm", RowOperand::two_vectors, 2, 7},
    RowStepForm{RowStep::rope, "rope", RowOperand::angles, 0, 3},
    RowStepForm{RowStep::store, "store", RowOperand::result, 0, 0}};

constexpr const RowStepForm& form_of(RowStep step) {
    return row_steps[static_cast<std::size_t>(step)];
}

inline constexpr std::array row_step_names = [] {
    std::array<std::string_view, row_steps.size()> names{};
    std::ranges::transform(row_steps, names.begin(), &RowStepForm::name);
    return names;
}();

/// Null if no step has this name.
constexpr const RowStepForm* find_row_step(std::string_view name) {
    const auto* const found = std::ranges::find(row_steps, name, &RowStepForm::name);
    return found == row_steps.end() ? nullptr : found;
}

/// Tensors that a step takes of the launch's list, inputs and results alike.
constexpr int tensors_of(RowOperand operand) {
    return operand == RowOperand::none ? 0 : operand == RowOperand::two_vectors ? 2 : 1;
}

inline constexpr std::size_t longest_row_chain = 10;

// gelu(x) = x / 2 · (1 + tanh(c · (x + k x³))), which is x · sigmoid(2 c · (x + k x³)).
inline constexpr double gelu_c = 0.7978845608028654;  // sqrt(2 / pi)
inline constexpr double gelu_k = 0.044715;

}  // namespace raceline
