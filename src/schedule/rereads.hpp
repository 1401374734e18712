// SPDX-License-Identifier: Apache-2.0
// What a forward kernel reads again of K and V: host code of counts.
#pragma once

#include <algorithm>

#include "model/counts.hpp"
#include "schedule/plan.hpp"

namespace raceline::schedule {

/// K and V on their way to the CTAs of a launch, in bytes.
struct KeyTraffic {
    double once;       ///< that are read at least once
    double all;        ///< that are asked for: once a work tile
    double row_bytes;  ///< of a key and its value
    double in_stages;  ///< of a CTA, in shared memory
};

/// KV heads that are in work at a time, if the order takes heads in groups.
template <class Order>
double heads_kv_of(const Order& order, const Workload& w) {
    return std::max(1.0,
                    static_cast<double>(order.heads_per_group) / static_cast<double>(w.group()));
}

/// CTAs that work on one head walk its keys at the same time and share each pass; passes of
/// different times share what the L2 keeps of the heads in work.
inline void add_rereads(Counts& c, const Workload& w, double heads_kv, double ctas,
                        const KeyTraffic& t) {
    const double sharing = std::max(1.0, ctas / heads_kv);
    const double passes = std::max(t.once, t.all / sharing);
    c.reread.push_back({passes - t.once, heads_kv * static_cast<double>(w.seqlen_k) * t.row_bytes});
    c.reread.push_back({std::max(0.0, t.all - passes), t.in_stages * ctas});
}

}  // namespace raceline::schedule
