// SPDX-License-Identifier: Apache-2.0
// The operation record: one constant a folder of operations/, from which shapes, inputs, the
// float64 answer and the gate's bound of every kernel that computes it follow. Attention is one of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/required.hpp"
#include "workload/draw.hpp"
#include "workload/operation_args.hpp"
#include "workload/precision.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// count: a whole number, among Workload::extents. real: a finite number, among Workload::scalars.
/// grid: the rows and the width of a matrix, as in n=8192x4096, which are the extents `rows` and
/// `width`; a number alone is one row. word: one of `choices`, among Workload::words. chain: the
/// steps of a fused chain, which is written as the operation's name (ChainForm), among
/// Workload::words. own: read by the grammar of attention (shape_grammar.hpp).
enum class FieldKind : std::int32_t { count, real, grid, word, chain, own };

/// The extents of a grid.
inline constexpr std::string_view grid_rows = "rows", grid_width = "width";

/// One field of the shape grammar, beside op, pass and dtype, which every operation has.
struct OperationField {
    std::string_view name, meaning;
    FieldKind kind = FieldKind::count;
    std::string_view fallback{};  ///< as it would be typed; empty: the field is required
    std::span<const std::string_view> choices{};  ///< of a word
};

/// How a chain of steps names an operation: op=add+rmsnorm is the operation whose form claims both
/// steps, with its chain field set to "add+rmsnorm".
struct ChainForm {
    std::span<const std::string_view> steps;  ///< names of the steps that it knows
    /// Whether the chain is this operation's; all its steps are known to some operation.
    bool (*claims)(std::span<const std::string_view> chain) = nullptr;
    /// "" if the chain can be fused, else why not, as a clause. Asked of chains that it claims.
    std::string (*why_not)(std::span<const std::string_view> chain) = nullptr;
};

/// One tensor of a workload, contiguous (rows, width). Errors of an output's row are judged by the
/// RMS of that row's answer.
struct TensorSpec {
    std::string_view name;
    DType dtype = DType::fp32;
    std::int64_t rows = 0, width = 0;  ///< elements
    bool output = false;
    /// Over 0: int32 indices from 0 to below this, in the bits of dtype fp32.
    std::int64_t indices_below = 0;
    /// The logarithm of a sum of exponentials. The sum is off by a share of it, so that errors of
    /// the logarithm count as shares of max(1, |x|), not of an |x| that may be near 0.
    bool logarithm = false;

    [[nodiscard]] std::int64_t elements() const { return rows * width; }
    /// Of 64 bits where an address has 32, as in WebAssembly: tensors are predicted there that no
    /// such memory holds.
    [[nodiscard]] std::uint64_t bytes() const;
};

/// Inputs of one seed and kind. `data` has one entry a tensor; those of outputs are empty.
struct OperationData {
    std::uint64_t seed = 1;
    Draw draw = Draw::plain;
    std::vector<TensorSpec> tensors;
    std::vector<std::vector<std::byte>> data;

    /// Element of an input as double.
    [[nodiscard]] double at(std::size_t tensor, std::int64_t element) const;
    /// Element of an input of indices.
    [[nodiscard]] std::int64_t index(std::size_t tensor, std::int64_t element) const;
};

/// Output tensors, stored one after the other in the order of the record.
using StoredOutputs = std::vector<std::vector<std::byte>>;

/// A named change of a right answer, after which it is wrong: the gate must refuse it.
struct Mutation {
    std::string_view name;
    void (*apply)(const Workload&, StoredOutputs& outputs, std::uint64_t seed) = nullptr;
};

inline constexpr std::array<std::string_view, 1> forward_only{"forward"};

double bytes_of_inputs(const Workload& workload);   ///< of all input tensors
double bytes_of_outputs(const Workload& workload);  ///< of all output tensors

/// The record that an operation's folder writes. Functions are references and data is Required, so
/// that a forgotten field is a compile error. Functions get workloads that were validated.
struct OperationRecord {
    Required<std::string_view> name;     ///< of the folder
    Required<std::string_view> summary;  ///< one clause
    /// Small shapes, without dtype, on which the tests try the record: "op=scale,n=1000,a=2". The
    /// first one is shown to those who leave a field out.
    Required<std::span<const std::string_view>> examples;
    Required<std::span<const OperationField>> fields;
    /// Throws Error(invalid_argument) with a sentence that names the field and what is accepted.
    /// That fields are there and of their kind was looked at before.
    void (&validate)(const Workload&);
    /// Inputs and outputs, at most OperationArgs::most.
    std::vector<TensorSpec> (&tensors)(const Workload&);
    /// Kinds of inputs that make sense, Draw::plain, which is what is timed, among them.
    Required<std::span<const Draw>> draws;
    /// Seeded data for the inputs; normal_inputs serves where any numbers do.
    OperationData (&inputs)(const Workload&, std::uint64_t seed, Draw draw);
    /// Rows of output tensor `tensor` in float64, one after the other, from the stored inputs.
    std::vector<double> (&answer)(const Workload&, const OperationData&, std::size_t tensor,
                                  std::span<const std::int64_t> rows);
    /// The same rounded where the precision says, the output's storage included. The gate's bound
    /// is made of its errors.
    std::vector<double> (&rounded)(const Workload&, const OperationData&, std::size_t tensor,
                                   std::span<const std::int64_t> rows, const Precision&);
    Required<std::span<const Mutation>> mutations;
    /// Compulsory traffic, bytes; bytes_of_inputs and bytes_of_outputs serve where every element is
    /// read or written once.
    double (&bytes_read)(const Workload&);
    double (&bytes_written)(const Workload&);
    double (&operations)(const Workload&);  ///< floating-point operations of the definition
    std::span<const std::string_view> passes = forward_only;
    /// Whether its operations are matrix products, which matrix engines can do; else the bound is
    /// that of ordinary lanes.
    bool matrix_products = false;
    const ChainForm* chain = nullptr;  ///< of an operation that has a chain field
    /// What a launch needs to know beside sizes: OperationArgs::codes. Null: nothing.
    std::vector<std::int32_t> (*codes)(const Workload&) = nullptr;
};

/// What a record lists.
struct OperationLists {
    Required<std::span<const std::string_view>> examples;
    Required<std::span<const OperationField>> fields;
    Required<std::span<const Draw>> draws;
    Required<std::span<const Mutation>> mutations;
};

/// What a record computes, by what needs which: shapes, inputs, answers, costs.
struct OperationFunctions {
    void (&validate)(const Workload&);
    std::vector<TensorSpec> (&tensors)(const Workload&);
    OperationData (&inputs)(const Workload&, std::uint64_t seed, Draw draw);
    std::vector<double> (&answer)(const Workload&, const OperationData&, std::size_t tensor,
                                  std::span<const std::int64_t> rows);
    std::vector<double> (&rounded)(const Workload&, const OperationData&, std::size_t tensor,
                                   std::span<const std::int64_t> rows, const Precision&);
    double (&operations)(const Workload&);
    double (&bytes_read)(const Workload&) = bytes_of_inputs;
    double (&bytes_written)(const Workload&) = bytes_of_outputs;
};

/// A record of what every operation has.
constexpr OperationRecord record_of(std::string_view name, std::string_view summary,
                                    const OperationLists& lists, const OperationFunctions& of) {
    return {name,
            summary,
            lists.examples,
            lists.fields,
            of.validate,
            of.tensors,
            lists.draws,
            of.inputs,
            of.answer,
            of.rounded,
            lists.mutations,
            of.bytes_read,
            of.bytes_written,
            of.operations};
}
constexpr OperationRecord with_matrix_products(OperationRecord record) {
    record.matrix_products = true;
    return record;
}
constexpr OperationRecord with_chain(OperationRecord record, const ChainForm& chain,
                                     std::vector<std::int32_t> (&codes)(const Workload&)) {
    record.chain = &chain;
    record.codes = codes;
    return record;
}

/// Every operation in operations/, sorted by name.
std::span<const OperationRecord* const> all_operations();

/// Throws Error(invalid_argument) with the nearest name if there is none.
const OperationRecord& find_operation(std::string_view name);

/// An operation as it is written: its name, or a chain of steps that is one of its fields.
struct NamedOperation {
    const OperationRecord* record;
    std::string_view chain;  ///< "" if the operation was named by its own name
};
/// Throws Error(invalid_argument) with the nearest name for a step that no operation knows, or with
/// the reason why the chain cannot be fused.
NamedOperation named_operation(std::string_view text);
/// Names of operations and steps as their records spell them, whatever capitals, hyphens and
/// underscores a person writes ("RMS_Norm"), and "matmul" and "gemm" for linear. Others stay.
std::string spelled_operation(std::string_view text);

/// The steps between the plus signs of a chain.
std::vector<std::string_view> steps_of(std::string_view chain);

/// The kinds of inputs that the gate draws for this workload.
std::span<const Draw> draws_of(const Workload& workload);

/// Standard normals for every input tensor. outliers: every 61st element 8 times as large; biased:
/// plus 1/2; peaked: 4 times as large; non_finite: NaN and infinities in a few places. Indices are
/// drawn evenly, and keep to their range in every draw.
OperationData normal_inputs(const Workload& workload, std::uint64_t seed, Draw draw);

/// The arguments of a launch, with one address a tensor.
OperationArgs make_operation_args(const Workload& workload, std::span<void* const> addresses);

}  // namespace raceline

/// Ends an operation's record file. NAME is the folder's name; RECORD a `const OperationRecord`.
// clang-format off
#define RACELINE_OPERATION(NAME, RECORD)                              \
    namespace raceline::operations::NAME {                            \
    const ::raceline::OperationRecord& operation() { return RECORD; } \
    }
// clang-format on
