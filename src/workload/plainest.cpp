// SPDX-License-Identifier: Apache-2.0
#include "workload/plainest.hpp"

#include <algorithm>
#include <cmath>

namespace raceline {
namespace {

// A scale is written in decimal, and its default is not always a short number.
constexpr double same_scale = 1e-6;

void drop_idle_sides(Workload& w) {
    const Window sides = folded_window(w);
    w.window = has_window(w) ? std::optional(sides) : std::nullopt;
    w.mask = sides.right == 0 ? Mask::causal : Mask::full;
}

void drop_equal_lengths(std::vector<std::int64_t>& lengths, std::int64_t same) {
    if (std::ranges::all_of(lengths, [same](std::int64_t length) { return length == same; })) {
        lengths.clear();
    }
}

void drop_default_scale(Workload& w) {
    if (w.scale &&
        std::abs(*w.scale * std::sqrt(static_cast<double>(w.headdim)) - 1) <= same_scale) {
        w.scale.reset();
    }
}

}  // namespace

Workload canonical(Workload workload) {
    if (!workload.is_attention()) {
        return workload;
    }
    if (workload.window && (workload.mask == Mask::causal || workload.window->right == 0)) {
        workload.mask = Mask::causal;
        workload.window->right = -1;
    }
    if (workload.window && *workload.window == Window{}) {
        workload.window.reset();
    }
    if (workload.scale) {
        const double given = *workload.scale;
        workload.scale.reset();
        // Callers round 1 / sqrt(d) in ways that differ in the last place; kernels take a float.
        if (static_cast<float>(workload.scale_value()) != static_cast<float>(given)) {
            workload.scale = given;
        }
    }
    return workload;
}

Workload plainest(Workload workload) {
    if (!workload.is_attention()) {
        return workload;
    }
    drop_idle_sides(workload);
    drop_equal_lengths(workload.seqlens_q, workload.seqlen_q);
    drop_equal_lengths(workload.seqlens_k, workload.seqlen_k);
    drop_default_scale(workload);
    if (workload.dtype != DType::e4m3) {
        workload.accuracy = Accuracy::accurate;
    }
    return workload;
}

}  // namespace raceline
