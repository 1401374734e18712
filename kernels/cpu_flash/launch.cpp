// SPDX-License-Identifier: Apache-2.0
// The launch: plan, threads, tasks handed out dynamically, combination of split rows.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <omp.h>

#include "device/device.hpp"
#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/rows.hpp"
#include "kernels/cpu_flash/scratch.hpp"
#include "support/check.hpp"

namespace raceline::kernels::cpu_flash {
namespace {

struct Launch {
    const AttentionCall& args;
    const TaskProblem& problem;
    const Plan& plan;
    const Tile& tile;
    const WorkspaceLayout& layout;
    float* base;
    Products products;
};

void run_task(const Launch& launch, std::int64_t index, float* scratch) {
    const std::int64_t ranges = launch.plan.head_ranges;
    const std::int64_t range = index % ranges;
    const std::int64_t heads = launch.problem.heads_kv;
    Task task{};
    task.args = &launch.args;
    task.problem = &launch.problem;
    task.work_tile = launch.plan.work_tiles[static_cast<std::size_t>(index / ranges)];
    task.head0 = range * heads / ranges;
    task.head1 = (range + 1) * heads / ranges;
    task.tile_rows = launch.tile.rows;
    task.tile_keys = launch.tile.keys;
    task.products = launch.products;
    task.scratch = scratch;
    task.partials = launch.base + launch.layout.partials;
    task.slot_stride = launch.layout.slot_stride;
    launch.plan.decode ? run_decode(task) : run_prefill(task);
}

// Of one K/V head. Partial results become answers: weighted by 2^(own peak - common peak).
void merge_row(const Launch& launch, const Split& split, std::int64_t head_kv, std::int64_t row,
               float* out) {
    const AttentionArgs& a = launch.args;
    const float* const partials = launch.base + launch.layout.partials;
    const auto slot = [&](std::int64_t i) {
        return partials + (split.slot + i * a.heads_kv + head_kv) * launch.layout.slot_stride;
    };
    const auto ends = [&](std::int64_t i) { return slot(i) + split.rows * a.headdim_v + 2 * row; };
    float peak = ends(0)[0];
    for (std::int64_t i = 1; i < split.parts; ++i) {
        peak = std::max(peak, ends(i)[0]);
    }
    std::fill_n(out, a.headdim_v, 0.0F);
    float sum = 0;
    for (std::int64_t i = 0; i < split.parts; ++i) {
        const float weight = std::exp2(ends(i)[0] - peak);
        const float* part = slot(i) + row * a.headdim_v;
        sum += weight * ends(i)[1];
        for (std::int64_t c = 0; c < a.headdim_v; ++c) {
            out[c] += weight * part[c];
        }
    }
    write_row(a, launch.problem.group(), split.sequence, head_kv, split.row0 + row, peak, sum, out);
}

void merge(const Launch& launch, std::int64_t index, float* scratch) {
    const std::int64_t heads = launch.problem.heads_kv;
    const Split& split = launch.plan.splits[static_cast<std::size_t>(index / heads)];
    for (std::int64_t row = 0; row < split.rows; ++row) {
        merge_row(launch, split, index % heads, row, scratch);
    }
}

}  // namespace

void launch(const AttentionCall& args, int tile, const Device& device, void* workspace,
            void* /*stream*/) {
    require(tile >= 0 && tile < static_cast<int>(kTiles.size()), Status::invalid_argument,
            "tile {} does not exist: cpu_flash has {}", tile, kTiles.size());
    const Tile& chosen = kTiles[static_cast<std::size_t>(tile)];
    const int units = std::max(1, device.units);
    const TaskProblem problem = task_problem_of(args);
    const Plan plan = make_plan(problem, chosen, units);
    const WorkspaceLayout layout(problem, chosen, units);
    // The caller's block need not be aligned; the layout has room for a cache line.
    const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(workspace) % 64;
    auto* base =
        reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + (over ? 64 - over : 0));
    const Products products =
        products_of({args.dtype, args.kv_dtype, plan.decode, args.k_token_scale.data != nullptr,
                     args.headdim, args.headdim_v});
    const Launch call{args, problem, plan, chosen, layout, base, products};
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
