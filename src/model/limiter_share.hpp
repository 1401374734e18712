// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/constant.hpp"

namespace raceline {

/// A resource that takes this share of the time behind the launch limits it; under it, what is
/// waited for does.
inline constexpr Constant limiter_share =
    manual("limiter.share", 0.6,
           "bench/limiter.py, the rule by which hardware counters name a limiter; it is older");

/// Without such a resource: units that hold no CTA for more than this share of a time limit it.
inline constexpr Constant idle_limit =
    manual("limiter.idle", 0.4,
           "bench/limiter.py, the rule by which hardware counters name a limiter; it is older");

}  // namespace raceline
