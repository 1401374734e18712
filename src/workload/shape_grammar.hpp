// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "support/json.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// Parses `b=1,h=32/8,q=1,k=8192,d=128,dtype=bf16,causal`. A field that is unknown, repeated or
/// malformed throws Error(invalid_argument) naming it and, if one is near, the valid one meant.
/// `fallback_dtype` is used where the text names no dtype. `op=NAME` asks for another operation
/// than attention, whose record names the other fields.
Workload parse_shape(std::string_view text, DType fallback_dtype = DType::bf16);

/// Canonical text that parses back to the same workload: h, q, k, d and dtype always, the rest only
/// where it is not the default.
std::string format_shape(const Workload& workload);

DType parse_dtype(std::string_view text);  ///< throws Error(invalid_argument) listing the names

Accuracy parse_accuracy(std::string_view text);  ///< throws Error(invalid_argument), as above

/// The receipt's form: names as in the design, plus seqlens_q, seqlens_k, scale, mla and accuracy
/// where set. Another operation's names itself: {"op", "dtype", "extents", "scalars"}.
Json workload_to_json(const Workload& workload);
Workload workload_from_json(const Json& object);

}  // namespace raceline
