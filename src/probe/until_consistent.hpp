// SPDX-License-Identifier: Apache-2.0
// A probe repeated until its ceilings agree with each other.
#pragma once

#include <functional>
#include <vector>

#include "receipt/values.hpp"

namespace raceline {

/// Probes, and probes again (three times in all) while ceilings contradict each other, keeping the
/// better of each. Throws Error(internal) with the sentences if they still do.
std::vector<Ceiling> probe_until_consistent(const std::function<std::vector<Ceiling>()>& probe);

}  // namespace raceline
