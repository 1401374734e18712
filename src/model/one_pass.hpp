// SPDX-License-Identifier: Apache-2.0
// Counts of kernels that go through their data once: on a CPU in tasks that threads take as they
// come, on a GPU in CTAs that load, compute and store.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "model/constant.hpp"
#include "model/counts.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// Compulsory traffic, worked out once: it lists all tensors.
struct CompulsoryBytes {
    double read, written;

    explicit CompulsoryBytes(const Workload& w)
        : read(w.bytes_read()), written(w.bytes_written()) {}
};

/// All resources side by side; each task has an even share. `work` has all memory traffic.
inline Counts one_pass_of(const Workload& w, std::string step, Work work, std::int64_t tasks) {
    const bool says_by_what = std::any_of(work.begin(), work.end(), [](const auto& one) {
        return std::string_view(one.first).starts_with("flop.");
    });
    if (w.flops() > 0 && !says_by_what) {
        work["flop.fma.fp32"] = w.flops();
    }
    Counts c;
    c.launch = "main";
    c.work = std::move(work);
    c.ctas = tasks;
    c.balanced_order = true;
    c.steps = {{.name = std::move(step),
                .repeat = 1,
                .work = c.work * (1 / static_cast<double>(tasks)),
                .waits = {}}};
    std::vector<std::string>& together = c.overlap.emplace_back();
    for (const auto& [id, amount] : c.work) {
        together.push_back(id);
    }
    return c;
}

/// The same of `work` without memory traffic, which is the compulsory one. `past_caches`: results
/// are not stored through the caches; ordinary stores read a line before they change a part of it.
inline Counts one_pass(const Workload& w, std::string step, Work work, std::int64_t tasks,
                       bool past_caches) {
    const CompulsoryBytes bytes(w);
    work["byte.dram_read"] += bytes.read + (past_caches ? 0 : bytes.written);
    work["byte.dram_write"] += bytes.written;
    return one_pass_of(w, std::move(step), std::move(work), tasks);
}

/// Tasks take up to `most` of `all` elements or rows each, and the last may have fewer: what `c`
/// has an even share of is more for the others.
inline void add_imbalance(Counts& c, std::int64_t all, std::int64_t most) {
    c.imbalance = static_cast<double>(std::min(most, all)) * static_cast<double>(c.ctas) /
                  static_cast<double>(all);
    for (Step& step : c.steps) {
        step.work *= c.imbalance;
    }
}

/// The same on a core, which computes with what has come while little more is on its way: it looks
/// ahead a few hundred instructions, and a latency of DRAM is longer than these take. So memory and
/// arithmetic take turns.
inline Counts one_pass_in_turns(const Workload& w, std::string step, Work work, std::int64_t tasks,
                                bool past_caches) {
    Counts c = one_pass(w, std::move(step), std::move(work), tasks, past_caches);
    const std::vector<std::string> all = std::exchange(c.overlap, {{}, {}}).front();
    for (const std::string& id : all) {
        c.overlap[id.starts_with("byte.dram") ? 0 : 1].push_back(id);
    }
    return c;
}

/// A launch waits for the first line of its code and for its parameters. Further lines come while
/// it runs, and stay in the units' caches from call to call.
inline constexpr Constant cold_fetches =
    assumed("operations.cold_fetches", 1, "the first line alone, from memory");

/// One launch, of which CTAs of the first wave alone find no code. `residents`: CTAs that a unit
/// has room for.
inline std::vector<Counts> one_cold_launch(Counts c, const Device& device, int residents,
                                           double fetches = cold_fetches) {
    const double first = static_cast<double>(std::max(1, device.units) * std::max(1, residents));
    c.steps.push_back({.name = "code",
                       .repeat = fetches * std::min(1.0, first / static_cast<double>(c.ctas)),
                       .work = {},
                       .waits = "latency.dram"});
    return one_launch(std::move(c));
}

/// The same on a GPU: every CTA waits for its loads once.
inline Counts one_wave_pass(const Workload& w, Work work, std::int64_t ctas, int threads) {
    const CompulsoryBytes bytes(w);
    work["byte.l2"] += bytes.read + bytes.written;
    work["byte.dram_read"] += bytes.read;
    work["byte.dram_write"] += bytes.written;
    Counts c = one_pass_of(w, "elements", std::move(work), ctas);
    c.threads = threads;
    c.steps.front().waits = "latency.dram";
    return c;
}

}  // namespace raceline
