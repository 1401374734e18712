// SPDX-License-Identifier: Apache-2.0
// raceline.report_html: receipts as a page.
#pragma once

#include <nanobind/nanobind.h>

namespace raceline::python {

void bind_page(nanobind::module_& module);

}  // namespace raceline::python
