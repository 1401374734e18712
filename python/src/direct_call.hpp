// SPDX-License-Identifier: Apache-2.0
// A whole decode call over plain PyTorch tensors, without Python between its steps: of a short call
// they are most of what the caller's thread pays.
#pragma once

#include <nanobind/nanobind.h>

namespace raceline::python {

/// From now on decode_directly asks this for what the tensors' exchange does not tell: `empty`,
/// `empty_like`, `empty_float`, `is_grad_enabled`, `current_device`, `allocate` and `free`, as in
/// raceline._tensors. Where `allocate` is None, calls on a GPU are left to Python.
void call_directly_with(nanobind::object library);

/// Arguments: return_lse, then those of raceline.decode in the order of `order` in its file.
/// Returns what raceline.decode does; or None, and nothing was done, where Python has to make the
/// call: a tensor must be copied, needs a gradient or is no plain one of PyTorch, it is on a GPU
/// that is not the current one, or return_lse is no bool. Whether PyTorch compiles or intercepts is
/// for the caller to ask.
nanobind::object decode_directly(const nanobind::args& arguments);

}  // namespace raceline::python
