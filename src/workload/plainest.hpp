// SPDX-License-Identifier: Apache-2.0
// One spelling for problems that are the same.
#pragma once

#include "workload/workload.hpp"

namespace raceline {

/// The same problem without words that change nothing whatever the lengths are: a window that is
/// open on both sides, its right side beside causal, a scale of exactly 1 / sqrt(headdim). A right
/// side of 0 is said as causal.
/// parse_shape and calls give these, so that one problem is not two cases.
Workload canonical(Workload workload);

/// The problem that a valid `workload` asks for, without what changes nothing about it: a mask or a
/// window's side that hides no key of the longest sequence, lengths of a ragged batch that are all
/// the longest, a scale of 1 / sqrt(headdim), an accuracy where queries have more than 8 bits. Of
/// a causal window the right side is 0, as receipts have it. Another operation than attention has
/// one spelling.
Workload plainest(Workload workload);

}  // namespace raceline
