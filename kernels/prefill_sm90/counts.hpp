// SPDX-License-Identifier: Apache-2.0
// What counts and records of both types have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_sm90/tile.hpp"
#include "model/constant.hpp"
#include "model/counts.hpp"
#include "schedule/queueing.hpp"
#include "schedule/rereads.hpp"
#include "schedule/share.hpp"
#include "schedule/steps.hpp"

namespace raceline::kernels::hopper {

inline constexpr Constant exponential_clocks =
    manual("sm.exponential_clocks", 8,
           "16 results a clock and SM: CUDA C++ Programming Guide, throughput");

/// Clocks of a block's softmax alone: no products beside it.
inline double clocks_without_products(schedule::BlockClocks block, int warpgroups) {
    block.tensor = block.values = 0;
    return schedule::shared_clocks(block, warpgroups);
}

/// Work of a CTA for one block and at a work tile's ends, as far as it follows from lengths: what
/// both types do alike. `flop`: of wgmma, `bytes`: of an element of Q and K.
template <class Tile>
schedule::Pieces pieces_of(const Workload& w, const Tile& t, const std::string& flop,
                           double bytes) {
    const double rows = t.rows;
    const double keys = t.keys;
    const double columns_v = t.v_bytes() / t.keys / bytes;
    // A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
    constexpr double slot = 2;
    schedule::Pieces p;
    p.scores[flop] = 2 * rows * keys * t.headdim;
    // Every warpgroup reads its rows of Q and the whole block of K.
    p.scores["byte.smem_mma"] = t.q_bytes() + t.warpgroups() * static_cast<double>(t.k_bytes());
    p.scores["byte.l2"] = keys * static_cast<double>(w.headdim) * bytes;
    p.values[flop] = 2 * rows * keys * columns_v;
    p.values["byte.smem_mma"] = t.warpgroups() * static_cast<double>(t.v_bytes());
    // A score: multiply-add, sum, half a conversion.
    p.softmax["op.ex2"] = rows * keys;
    p.softmax["flop.fma.fp32"] = slot * rows * keys * counted(2.5, "softmax");
    // A work tile's first block looks for maxima.
    p.first_softmax["op.ex2"] = rows * keys;
    p.first_softmax["flop.fma.fp32"] =
        slot * rows * keys * counted(3.5, "softmax of a first block");
    p.start["byte.l2"] = rows * static_cast<double>(w.headdim) * bytes;
    p.finish["byte.l2"] = rows * static_cast<double>(w.headdim_v) * 2;
    p.finish["flop.fma.fp32"] = slot * rows * columns_v * counted(1.5, "epilogue");
    return p;
}

/// What decides the main launch's counts beside its work.
struct MainLaunch {
    const Workload& workload;
    const schedule::Plan& plan;
    const schedule::Share& share;
    int stages, stage_bytes;  ///< of K and V in shared memory
    int threads, registers, smem_bytes;
    double q_row_bytes, kv_row_bytes;  ///< of a query's row, of a key and its value
    double kv_bytes;                   ///< of K and V, that are read at least once
};
/// `beside`: what products run beside everything of a softmax, whose exponentials stand between its
/// other operations.
Counts main_counts(const MainLaunch& launch, const schedule::Pieces& pieces,
                   const std::vector<std::string>& beside);

/// The launches of a call: what is launched before, the clearing of a counter, the main one.
std::vector<Counts> launches_of(std::vector<Counts> before, const schedule::Plan& plan,
                                Counts main);

/// "" or why a device is not Hopper.
std::string why_not_hopper(const Device& device);

}  // namespace raceline::kernels::hopper
