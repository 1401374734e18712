// SPDX-License-Identifier: Apache-2.0
// raceline.predict: the model's answers, remembered.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

namespace raceline::python {

/// The predicted case of a shape in the command line's grammar, as JSON.
std::string predict_shape(const std::string& shape, const std::string& device,
                          const std::string& kernel);

void bind_predictions(nanobind::module_& module);

}  // namespace raceline::python
