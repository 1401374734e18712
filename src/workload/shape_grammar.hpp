// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"
#include "workload/operation.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// A field of the grammar: what parse_shape reads, and what help says of it.
struct ShapeField {
    std::string_view name;
    std::string_view written;  ///< as in a shape: "h=32/8", "causal"
    std::string_view meaning;
    std::string_view fallback;  ///< what it is if left out; empty: it is required
    std::string_view aliases;   ///< other names that are read, with spaces between them
    bool of_all = false;        ///< dtype, op and pass: every operation has it
    std::span<const std::string_view> choices{};  ///< of a field that takes one of a few words
};

/// All of them, in the order in which help lists them. There is no other list.
std::span<const ShapeField> shape_fields();

/// Whether the grammar of attention has a field of this name or alias, in any case.
bool is_shape_field(std::string_view name);

/// Those of attention alone, as its record has them.
std::span<const OperationField> attention_fields();

/// A type, and the other names that are read for it.
struct DTypeNames {
    DType dtype = DType::fp32;
    std::string_view aliases;  ///< with spaces between them
};
std::span<const DTypeNames> dtype_names();

/// Parses `b=1,h=32/8,q=1,k=8192,d=128,dtype=bf16,causal`, in capital letters or small ones. A
/// field that is unknown, repeated or malformed throws Error(invalid_argument) naming it and, if
/// one is near, the valid one meant. `fallback_dtype` is used where the text names no dtype.
/// `op=NAME` asks for another operation than attention, whose record names the other fields.
Workload parse_shape(std::string_view text, DType fallback_dtype = DType::bf16);

/// Text that parses back to the same workload, in its canonical form (plainest.hpp): h, q, k, d and
/// dtype always, the rest only where it is not the default.
std::string format_shape(const Workload& workload);
/// "op=rmsnorm,n=8192x4096" of "rmsnorm,n=8192x4096", which may have its `op=` already, in any
/// case: an operation's shape as options name it.
std::string operation_shape(std::string_view text);

/// A type by its name or one of its aliases, in capital letters or small ones; nothing if there is
/// none.
std::optional<DType> find_dtype(std::string_view text);
/// The same; throws Error(invalid_argument) listing the names: those that Q may have.
DType parse_dtype(std::string_view text);
/// The same of a cache, which may also be nvfp4.
DType parse_cache_dtype(std::string_view text);
/// By its name alone, as files have it.
DType dtype_named(std::string_view text);

Accuracy parse_accuracy(std::string_view text);  ///< throws Error(invalid_argument), as above
Accuracy accuracy_named(std::string_view text);

/// The receipt's form: names as in the design, plus seqlens_q, seqlens_k, scale, mla and accuracy
/// where set. Another operation's names itself: {"op", "dtype", "extents", "scalars"}.
Json workload_to_json(const Workload& workload);
Workload workload_from_json(const Json& object);

}  // namespace raceline
