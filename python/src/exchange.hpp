// SPDX-License-Identifier: Apache-2.0
// DLPack's exchange in C (`__dlpack_c_exchange_api__` of a type, DLPack 1.3): how memory of a
// tensor is read without Python in between. Nothing waits for a stream: work goes to the library's
// current one.
#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <optional>

#include "dlpack.hpp"

namespace raceline::python {

namespace nb = nanobind;

/// Tensors of exactly this type are read by the exchange from now on. False, and nothing changes,
/// if the type has none of version 1.
bool exchange_with(nb::handle type);

/// A tensor's memory, if its type is one of those; valid while the tensor lives. Its shape and
/// strides are the library's own and valid until Python runs again. Throws what the library raises.
std::optional<dlpack::Tensor> exchanged(nb::handle tensor);

/// Whether kernels can take a tensor, or None, as it is: its type is one of those, it is dense on a
/// CPU or a CUDA device, its last dimension is contiguous, and its sign bits are those in memory
/// (PyTorch negates views of imaginary parts when it reads them).
bool is_addressable(nb::handle tensor);
/// The same of each of these.
bool all_addressable(const nb::args& tensors);

/// The number of the current CUDA stream on a tensor's device; nothing for one on a CPU, and for
/// one whose type is none of those.
std::optional<std::uintptr_t> stream_of(nb::handle tensor);

}  // namespace raceline::python
