// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "report/first_sight.hpp"

namespace raceline {

/// Judges by the receipts that were committed when this was built, and knows what kernels were
/// called before.
FirstSights sights_of_this_build(
    std::span<const build_info::EmbeddedSight> committed = build_info::first_sights());

}  // namespace raceline
