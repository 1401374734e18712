// SPDX-License-Identifier: Apache-2.0
// A Python tensor as memory: what DLPack, the buffer protocol or a description says of it.
#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <string_view>
#include <vector>

#include "raceline/raceline.hpp"

namespace raceline::python {

namespace nb = nanobind;

/// An element type by DLPack's codes.
struct ElementType {
    std::uint8_t code = 0;
    std::uint8_t bits = 0;
    bool operator==(const ElementType&) const = default;
};

/// Borrowed memory; `owner` keeps it alive for as long as the Tensor lives.
struct Tensor {
    std::string_view name;  ///< the argument's, a literal
    void* data = nullptr;
    ElementType type;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  ///< in elements
    Place place = Place::cpu;
    int device = 0;  ///< index of the GPU; 0 on a CPU
    nb::object owner;
};

/// An address as Python has it: a number.
inline void* pointer(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Takes any of
/// - a tensor whose type exchange_with (exchange.hpp) was told of,
/// - an object with `__dlpack__` (asked for memory that is ready on `stream`, None: on a CPU),
/// - an object with the buffer protocol, where DLPack refuses (read-only arrays of older NumPy),
/// - a tuple (address, dtype's name, shape, strides or None, on a GPU?, device, what owns the
///   memory), with names such as "bf16", "e4m3", "int32".
/// Copies nothing. Throws TypeError, naming the argument, for what is no tensor or of a type that
/// no argument takes; ValueError for memory that is neither a CPU's nor a CUDA device's.
Tensor read_tensor(std::string_view name, nb::handle object, nb::handle stream);

/// "float32", "bf16" as users write them; for error messages.
std::string type_name(const ElementType& type);

/// The storage type of attention's tensors; TypeError naming the argument if it is none of them.
DType storage_type(const Tensor& tensor);
/// The public view of a tensor.
TensorView view_of(const Tensor& tensor);
/// Whether the elements follow one another, the last dimension's first.
bool is_contiguous(const Tensor& tensor);
/// The address of a contiguous array of `count` elements of one of the types below; TypeError or
/// ValueError otherwise.
const float* float_array(const Tensor& tensor, const std::vector<std::int64_t>& shape);
/// The same of int32 or uint32, of this shape: words whose bits count.
const std::uint32_t* word_array(const Tensor& tensor, const std::vector<std::int64_t>& shape);
const std::int32_t* int32_array(const Tensor& tensor, std::size_t rank);

/// ValueError if the tensor is not where the first argument is.
void require_same_device(const Tensor& tensor, const Tensor& first);

/// Raises a Python exception with a sentence.
[[noreturn]] void raise_type_error(const std::string& sentence);
[[noreturn]] void raise_value_error(const std::string& sentence);

}  // namespace raceline::python
