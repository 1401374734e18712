// SPDX-License-Identifier: Apache-2.0
// How a shape can go on: the fields that its operation has and that it does not have yet.
#pragma once

#include "completion_values.hpp"

namespace raceline::cli {

/// A shape goes on after its last comma: with a field, or with a value of the field begun there.
Offers shapes_of(const UnfinishedLine& line);

/// Operations by name, and the steps of chains, one more after a plus sign; after a comma the
/// fields of that operation.
Offers operations_of(const UnfinishedLine& line);

/// The sizes that `--over` can vary: those that the command's shape leaves open.
Offers ranges_of(const UnfinishedLine& line);

}  // namespace raceline::cli
