// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90/counts.hpp"

#include <algorithm>

namespace raceline::kernels::hopper {

Counts main_counts(const MainLaunch& launch, const schedule::BlockWork& p,
                   const std::vector<std::string>& beside) {
    const Workload& w = launch.workload;
    const schedule::Plan& plan = launch.plan;
    const schedule::Share& share = launch.share;
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);
    const double asked = share.keys * launch.kv_row_bytes;
    Counts c;
    c.launch = "main";
    c.work = (p.scores + p.softmax + p.values) * share.worked + p.finish * share.work_tiles;
    c.work["byte.l2"] = asked + share.rows * launch.q_row_bytes + w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + launch.kv_bytes;
    c.work["byte.dram_write"] = w.bytes_out() + lse_bytes;

    const double tiles_per_kv_head =
        static_cast<double>(plan.order.row_tiles) * static_cast<double>(w.group());
    const double heads_kv =
        std::max(schedule::heads_kv_of(plan.order, w), plan.ctas / tiles_per_kv_head);
    const double in_stages = static_cast<double>(launch.stages) * launch.stage_bytes;
    schedule::add_rereads(c, w, heads_kv, plan.ctas,
                          {launch.kv_bytes, asked, launch.kv_row_bytes, in_stages});

    c.ctas = std::max(1, plan.ctas);
    c.threads = launch.threads;
    c.warps_counted = true;
    c.registers = launch.registers;
    c.smem_bytes = launch.smem_bytes;
    c.bytes_in_flight = in_stages;
    c.imbalance = share.imbalance;
    c.balanced_order = true;
    for (const char* id : {"op.ex2", "flop.fma.fp32"}) {
        c.overlap.push_back(beside);
        c.overlap.back().emplace_back(id);
    }
    return c;
}

std::vector<Counts> launches_of(std::vector<Counts> before, const schedule::Plan& plan,
                                Counts main) {
    if (plan.handed_out) {
        before.push_back(schedule::clearing());
    }
    before.push_back(std::move(main));
    return before;
}

}  // namespace raceline::kernels::hopper
