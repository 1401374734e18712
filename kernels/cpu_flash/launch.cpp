// SPDX-License-Identifier: Apache-2.0
// The launch: plan, threads, tasks handed out dynamically, merge of split rows.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <omp.h>

#include "device/device.hpp"
#include "kernels/cpu_flash/engine.hpp"
#include "kernels/cpu_flash/scratch.hpp"
#include "kernels/cpu_flash/workspace.hpp"
#include "support/check.hpp"

namespace raceline::kernels::cpu_flash {
namespace {

struct Launch {
    const AttentionArgs& args;
    const Problem& problem;
    const Plan& plan;
    const Tile& tile;
    const WorkspaceLayout& layout;
    float* base;
    bool dot;
};

void run_task(const Launch& launch, std::int64_t index, float* scratch) {
    const std::int64_t ranges = launch.plan.head_ranges;
    const std::int64_t range = index % ranges;
    const std::int64_t heads = launch.problem.heads_kv;
    Task task{};
    task.args = &launch.args;
    task.problem = &launch.problem;
    task.piece = launch.plan.pieces[static_cast<std::size_t>(index / ranges)];
    task.head0 = range * heads / ranges;
    task.head1 = (range + 1) * heads / ranges;
    task.tile_rows = launch.tile.rows;
    task.tile_keys = launch.tile.keys;
    task.dot = launch.dot;
    task.scratch = scratch;
    task.partials = launch.base + launch.layout.partials;
    task.slot_stride = launch.layout.slot_stride;
    launch.plan.decode ? run_decode(task) : run_prefill(task);
}

void merge(const Launch& launch, std::int64_t index, float* scratch) {
    const std::int64_t heads = launch.problem.heads_kv;
    MergeTask task{};
    task.args = &launch.args;
    task.problem = &launch.problem;
    task.split = launch.plan.splits[static_cast<std::size_t>(index / heads)];
    task.head = index % heads;
    task.partials = launch.base + launch.layout.partials;
    task.slot_stride = launch.layout.slot_stride;
    task.scratch = scratch;
    run_merge(task);
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device& device, void* workspace,
            void* /*stream*/) {
    require(tile >= 0 && tile < static_cast<int>(kTiles.size()), Status::invalid_argument,
            "tile {} does not exist: cpu_flash has {}", tile, kTiles.size());
    const Tile& chosen = kTiles[static_cast<std::size_t>(tile)];
    const int units = std::max(1, device.units);
    const Problem problem = problem_of(args);
    const Plan plan = make_plan(problem, chosen, units);
    const WorkspaceLayout layout(problem, chosen, units);
    // The caller's block need not be aligned; the layout has room for a cache line.
    const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(workspace) % 64;
    auto* base =
        reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + (over ? 64 - over : 0));
    const bool dot = uses_dot(args.dtype, args.kv_dtype, plan.decode);
    const Launch call{args, problem, plan, chosen, layout, base, dot};
    const std::int64_t tasks = plan.tasks();
    const auto merges = static_cast<std::int64_t>(plan.splits.size()) * problem.heads_kv;
    const int threads =
        static_cast<int>(std::clamp<std::int64_t>(std::max(tasks, merges), 1, units));
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t> next_merge{0};
#pragma omp parallel num_threads(threads)
    {
        float* scratch = base + layout.scratch + omp_get_thread_num() * layout.thread_stride;
        for (std::int64_t i = next++; i < tasks; i = next++) {
            run_task(call, i, scratch);
        }
        if (merges > 0) {
#pragma omp barrier
            for (std::int64_t i = next_merge++; i < merges; i = next_merge++) {
                merge(call, i, scratch);
            }
        }
    }
}

}  // namespace raceline::kernels::cpu_flash
