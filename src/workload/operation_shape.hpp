// SPDX-License-Identifier: Apache-2.0
// Shapes of other operations than attention: text and JSON to workload and back. shape_grammar.hpp
// hands them over by `op`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "support/json.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// `fields` without op and pass. Throws Error(invalid_argument) for an operation, a pass or a field
/// that does not exist, with the valid name nearest to it.
Workload parse_operation_shape(std::string_view op, std::string_view pass,
                               std::span<const std::string_view> fields, DType fallback_dtype);

/// The name of the workload's operation as it is written: of a chain its steps, "add+rmsnorm".
std::string name_of_operation(const Workload& workload);

/// `op=scale,n=4096,dtype=bf16`: required fields always, the others where they differ from their
/// default.
std::string format_operation_shape(const Workload& workload);

/// {"op", "pass" if it is not forward, "dtype", "extents", "scalars", "words" if it has any}.
Json operation_workload_to_json(const Workload& workload);
/// Throws Error(corrupt) if it is not what the function above writes. Not validated.
Workload operation_workload_from_json(const Json& object);

/// That operation and pass exist and, but for attention, all that its record says of a workload.
/// Throws Error(invalid_argument).
void validate_operation(const Workload& workload);

}  // namespace raceline
