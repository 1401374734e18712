// SPDX-License-Identifier: Apache-2.0
#include "workload/operation.hpp"

#include <fmt/format.h>

#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline {
namespace {

double bytes_of_tensors(const Workload& w, bool outputs) {
    double bytes = 0;
    for (const TensorSpec& tensor : find_operation(w.op).tensors(w)) {
        bytes += tensor.output == outputs ? static_cast<double>(tensor.bytes()) : 0;
    }
    return bytes;
}

}  // namespace

std::size_t TensorSpec::bytes() const {
    return static_cast<std::size_t>(static_cast<double>(elements()) * bytes_of(dtype));
}

const OperationRecord& find_operation(std::string_view name) {
    std::vector<std::string_view> names;
    for (const OperationRecord* operation : all_operations()) {
        if (operation->name.value == name) {
            return *operation;
        }
        names.push_back(operation->name.value);
    }
    const std::string_view near = nearest(name.substr(0, 40), names);
    fail(Status::invalid_argument, "operation '{}' does not exist; {}there are: {}",
         name.substr(0, 40), near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
         fmt::join(names, " "));
}

std::span<const Draw> draws_of(const Workload& workload) {
    return find_operation(workload.op).draws.value;
}

double bytes_of_inputs(const Workload& workload) {
    return bytes_of_tensors(workload, false);
}

double bytes_of_outputs(const Workload& workload) {
    return bytes_of_tensors(workload, true);
}

OperationArgs make_operation_args(const Workload& w, std::span<void* const> addresses) {
    const OperationRecord& operation = find_operation(w.op);
    OperationArgs args;
    std::size_t at = 0;
    for (const TensorSpec& tensor : operation.tensors(w)) {
        args.tensors.at(at) = {addresses[at], tensor.rows, tensor.width, tensor.dtype};
        ++at;
    }
    std::size_t extents = 0;
    std::size_t scalars = 0;
    for (const OperationField& field : operation.fields.value) {
        if (field.kind == FieldKind::count) {
            args.extents.at(extents++) = w.extent(field.name);
        } else if (field.kind == FieldKind::real) {
            args.scalars.at(scalars++) = w.scalar(field.name);
        }
    }
    args.dtype = w.dtype;
    return args;
}

}  // namespace raceline
