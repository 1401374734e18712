// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace raceline::python {

/// devices() and measure(...): JSON texts, which the package turns into objects.
void bind_devices(nanobind::module_& module);

}  // namespace raceline::python
