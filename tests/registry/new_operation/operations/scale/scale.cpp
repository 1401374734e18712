// SPDX-License-Identifier: Apache-2.0
// y = a x, element by element.
#include <array>
#include <vector>

#include "support/check.hpp"
#include "workload/inputs.hpp"
#include "workload/operation.hpp"
#include "workload/oracle.hpp"

namespace raceline::operations::scale {
namespace {

constexpr std::array fields{OperationField{"n", "elements", FieldKind::count},
                            OperationField{"a", "the factor", FieldKind::real, "2"}};
constexpr std::array draws{Draw::plain, Draw::outliers, Draw::non_finite};

constexpr std::array<std::string_view, 1> examples{"op=scale,n=1000,a=0.3"};

void validate(const Workload& w) {
    require(w.extent("n") > 0, Status::invalid_argument, "n is {}: it must be 1 or more",
            w.extent("n"));
    require(w.dtype == DType::fp32 || w.dtype == DType::bf16, Status::invalid_argument,
            "dtype is {}: scale takes fp32 or bf16", name_of(w.dtype));
}

std::vector<TensorSpec> tensors(const Workload& w) {
    return {{"x", w.dtype, 1, w.extent("n")}, {"y", w.dtype, 1, w.extent("n"), true}};
}

std::vector<double> answer(const Workload& w, const OperationData& in, std::size_t,
                           std::span<const std::int64_t>) {
    std::vector<double> y(w.extent("n"));
    for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = w.scalar("a") * in.at(0, i);
    }
    return y;
}

std::vector<double> rounded(const Workload& w, const OperationData& in, std::size_t tensor,
                            std::span<const std::int64_t> rows, const Precision& precision) {
    std::vector<double> y = answer(w, in, tensor, rows);
    for (double& value : y) {
        value = round_to(round_to(value, precision.accumulators), precision.output);
    }
    return y;
}

void lose_last(const Workload& w, StoredOutputs& outputs, std::uint64_t) {
    store_element(outputs[0].data(), w.dtype, w.extent("n") - 1, 0);
}
constexpr std::array mutations{Mutation{"last_element_lost", lose_last}};

double operations(const Workload& w) {
    return static_cast<double>(w.extent("n"));
}

const OperationRecord record{.name = "scale",
                             .summary = "y = a x, element by element",
                             .examples = examples,
                             .fields = fields,
                             .validate = validate,
                             .tensors = tensors,
                             .draws = draws,
                             .inputs = normal_inputs,
                             .answer = answer,
                             .rounded = rounded,
                             .mutations = mutations,
                             .bytes_read = bytes_of_inputs,
                             .bytes_written = bytes_of_outputs,
                             .operations = operations};

}  // namespace
}  // namespace raceline::operations::scale

RACELINE_OPERATION(scale, record)
