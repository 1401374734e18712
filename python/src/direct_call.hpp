// SPDX-License-Identifier: Apache-2.0
// A whole decode call over plain PyTorch tensors, without Python between its steps: of a short call
// they are most of what the caller's thread pays.
#pragma once

#include <nanobind/nanobind.h>

namespace raceline::python {

/// From now on decode_directly asks this for what the tensors' exchange does not tell: `empty`,
/// `empty_like`, `empty_float`, `is_grad_enabled`, `current_device`, `allocate` and `free`, as
/// raceline._tensors has them. Without `allocate` calls on a GPU are left to Python.
void call_directly_with(nanobind::object library);

/// decode(return_lse, then as in its file). The outputs; or None, and nothing was done, if Python
/// has to make the call: a tensor must be copied, needs a gradient or is no plain one of PyTorch,
/// it is on a GPU that is not the current one, or an argument may have to be refused before the
/// others are looked at.
nanobind::object decode_directly(const nanobind::args& arguments);

}  // namespace raceline::python
