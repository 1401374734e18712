// SPDX-License-Identifier: Apache-2.0
// A chain of rows as an engine runs it: elementary steps, in which softmax and norms are sums and
// maxima over the row with elementwise steps between them. For host and device.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "workload/operation_args.hpp"
#include "workload/row_chain.hpp"

#ifdef __CUDACC__
#define RACELINE_ROWS_FN __host__ __device__
#else
#define RACELINE_ROWS_FN
#endif

namespace raceline {

/// What is done to an element x. `matrix` and `vector` are operands from memory, `statistic` is
/// what the last reduction has left.
enum class RowOp : std::int32_t {
    relu,
    gelu,
    silu,
    sigmoid,
    tanh,
    exp,
    square,
    add_matrix,
    sub_matrix,
    mul_matrix,
    add_vector,
    mul_vector,
    add_statistic,
    mul_statistic,
    rope,
    store,
    reduce_max,
    reduce_sum,
    reduce_squares
};

constexpr bool is_reduction(RowOp op) {
    return op >= RowOp::reduce_max;
}
/// An operand of as many rows as there are, or of one row for all.
constexpr bool takes_matrix(RowOp op) {
    return op >= RowOp::add_matrix && op <= RowOp::mul_matrix;
}
constexpr bool takes_vector(RowOp op) {
    return op == RowOp::add_vector || op == RowOp::mul_vector;
}

/// What becomes of a reduction's result, so that the elements only add or multiply by it.
enum class RowFinish : std::int32_t { none, negated, negative_mean, inverse, inverse_root };

struct RowInstruction {
    RowOp op = RowOp::store;
    RowFinish finish = RowFinish::none;
    std::int32_t tensor = 0;  ///< of an operand or a result, in the launch's list

    constexpr bool operator==(const RowInstruction&) const = default;
};

struct RowProgram {
    // Of all steps layernorm needs most: two reductions, their uses, gain and bias.
    static constexpr std::size_t most = 6 * longest_row_chain;
    std::array<RowInstruction, most> list{};
    std::int32_t size = 0;
    std::int32_t result = 0;  ///< the tensor that the last values go to

    constexpr void add(RowOp op, std::int32_t tensor = 0, RowFinish finish = RowFinish::none) {
        list[static_cast<std::size_t>(size++)] = {op, finish, tensor};
    }
    [[nodiscard]] constexpr std::span<const RowInstruction> steps() const {
        return {list.data(), static_cast<std::size_t>(size)};
    }
};

/// The program of steps whose tensors begin with number `first`; the result's stands behind them.
constexpr RowProgram row_program(std::span<const RowStep> chain, std::int32_t first = 1) {
    RowProgram p;
    std::int32_t tensor = first;
    for (const RowStep step : chain) {
        switch (step) {
            case RowStep::relu: p.add(RowOp::relu); break;
            case RowStep::gelu: p.add(RowOp::gelu); break;
            case RowStep::silu: p.add(RowOp::silu); break;
            case RowStep::sigmoid: p.add(RowOp::sigmoid); break;
            case RowStep::tanh: p.add(RowOp::tanh); break;
            case RowStep::exp: p.add(RowOp::exp); break;
            case RowStep::square: p.add(RowOp::square); break;
            case RowStep::add: p.add(RowOp::add_matrix, tensor); break;
            case RowStep::sub: p.add(RowOp::sub_matrix, tensor); break;
            case RowStep::mul: p.add(RowOp::mul_matrix, tensor); break;
            case RowStep::bias: p.add(RowOp::add_vector, tensor); break;
            case RowStep::gain: p.add(RowOp::mul_vector, tensor); break;
            case RowStep::softmax:
                p.add(RowOp::reduce_max, 0, RowFinish::negated);
                p.add(RowOp::add_statistic);
                p.add(RowOp::exp);
                p.add(RowOp::reduce_sum, 0, RowFinish::inverse);
                p.add(RowOp::mul_statistic);
                break;
            case RowStep::rmsnorm:
                p.add(RowOp::reduce_squares, 0, RowFinish::inverse_root);
                p.add(RowOp::mul_statistic);
                p.add(RowOp::mul_vector, tensor);
                break;
            case RowStep::layernorm:
                p.add(RowOp::reduce_sum, 0, RowFinish::negative_mean);
                p.add(RowOp::add_statistic);
                p.add(RowOp::reduce_squares, 0, RowFinish::inverse_root);
                p.add(RowOp::mul_statistic);
                p.add(RowOp::mul_vector, tensor);
                p.add(RowOp::add_vector, tensor + 1);
                break;
            case RowStep::rope: p.add(RowOp::rope, tensor); break;
            case RowStep::store: p.add(RowOp::store, tensor); break;
        }
        tensor += tensors_of(form_of(step).operand);
    }
    p.result = tensor;
    return p;
}

constexpr std::int64_t reductions_of(const RowProgram& program) {
    std::int64_t count = 0;
    for (const RowInstruction& step : program.steps()) {
        count += is_reduction(step.op) ? 1 : 0;
    }
    return count;
}
constexpr bool has_reductions(const RowProgram& program) {
    return reductions_of(program) > 0;
}

constexpr bool has_rope(const RowProgram& program) {
    return std::ranges::any_of(program.steps(),
                               [](const RowInstruction& step) { return step.op == RowOp::rope; });
}

/// Whether an element needs to know where in which row it stands. Else the matrix is one long row.
constexpr bool knows_rows(const RowProgram& program) {
    return std::ranges::any_of(program.steps(), [](const RowInstruction& step) {
        return is_reduction(step.op) || step.op == RowOp::rope || step.op == RowOp::add_vector ||
               step.op == RowOp::mul_vector;
    });
}

/// The steps of a launch's codes.
inline RowProgram row_program_of(const OperationArgs& args) {
    std::array<RowStep, OperationArgs::most> chain{};
    for (std::int32_t i = 0; i < args.code_count; ++i) {
        chain[static_cast<std::size_t>(i)] =
            static_cast<RowStep>(args.codes[static_cast<std::size_t>(i)]);
    }
    return row_program({chain.data(), static_cast<std::size_t>(args.code_count)});
}

/// A reduction's result over `width` elements, as the elements use it.
RACELINE_ROWS_FN inline float finished(RowFinish finish, float value, float width, float eps) {
    switch (finish) {
        case RowFinish::negated: return -value;
        case RowFinish::negative_mean: return -value / width;
        case RowFinish::inverse: return 1.0F / value;
        case RowFinish::inverse_root: return 1.0F / std::sqrt(value / width + eps);
        case RowFinish::none: break;
    }
    return value;
}

}  // namespace raceline
