// SPDX-License-Identifier: Apache-2.0
// How a launch is split into tasks. Used by the launch and by the counts, so that the model counts
// exactly what runs. Then what stands between the launch, which knows threads and tasks, and the
// code that exists once a SIMD target.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu_flash/tile.hpp"
#include "support/bf16_tiles.hpp"
#include "workload/attention_call.hpp"
#include "workload/problem.hpp"

namespace raceline::kernels::cpu_flash {

/// Sequence lengths, from whichever array the call gives.
struct Lengths {
    const std::int32_t* cu_q = nullptr;    ///< batch + 1 prefix sums, or null
    const std::int32_t* cu_k = nullptr;    ///< batch + 1 prefix sums, or null
    const std::int32_t* used_k = nullptr;  ///< batch lengths, or null
    std::int64_t longest_q = 0;
    std::int64_t longest_k = 0;

    [[nodiscard]] std::int64_t q(std::int64_t b) const {
        return cu_q ? cu_q[b + 1] - cu_q[b] : longest_q;
    }
    [[nodiscard]] std::int64_t k(std::int64_t b) const {
        return used_k ? used_k[b] : cu_k ? cu_k[b + 1] - cu_k[b] : longest_k;
    }
};

/// A problem with what else decides how its tasks are made on a CPU.
struct TaskProblem : Problem {
    Lengths lengths = {};
    /// K and V keep the tokens of a head together, not the heads of a token.
    bool head_major = false;
    /// Batches like this one that are split up together with it: the counts look at one of many
    /// equal sequences.
    std::int64_t copies = 1;
};
TaskProblem task_problem_of(const AttentionArgs& args);

/// Keys that query i of a sequence sees: [first, last); under a tree all of them, and the tree
/// takes some of the last ones away (TreeRow).
struct KeySpan {
    std::int64_t first, last;
};
KeySpan visible_keys(const TaskProblem& problem, std::int64_t sequence, std::int64_t query);

/// Rows [row0, row0 + rows) of one sequence against keys [key0, key1), for every K/V head. Row r is
/// query r / group of head r % group within the group.
struct WorkTile {
    std::int64_t sequence;
    std::int64_t row0, rows;
    std::int64_t key0, key1;
    std::int64_t
        slot;  ///< first of the partial results of this work tile, -1: it is the whole answer
};

/// Rows whose keys were split: their partial results are combined.
struct Split {
    std::int64_t sequence;
    std::int64_t row0, rows;
    std::int64_t slot;  ///< of the first part; part i of head h is at slot + i * heads_kv + h
    std::int64_t parts;
};

struct Plan {
    bool decode = false;           ///< few rows: lanes along the head dim, memory bound
    std::int64_t head_ranges = 1;  ///< a work tile makes this many tasks, each a range of K/V heads
    std::vector<WorkTile> work_tiles;  ///< heaviest first where the lengths are equal
    std::vector<Split> splits;
    std::int64_t slots = 0;
    [[nodiscard]] std::int64_t tasks() const {
        return static_cast<std::int64_t>(work_tiles.size()) * head_ranges;
    }
};
Plan make_plan(const TaskProblem& problem, const Tile& tile, int units);

/// One of a plan's parts, and how many of them it stands for.
template <class Part>
struct Counted {
    Part of;
    std::int64_t times;
};
/// What a plan has, as far as counts need it: no more entries for two thousand million rows than
/// for a few, where the plan itself may take more memory than there is.
struct CountedPlan {
    bool decode;
    std::int64_t head_ranges, tasks;
    std::vector<Counted<WorkTile>> work_tiles;
    std::vector<Counted<Split>> splits;
};
CountedPlan count_plan(const TaskProblem& problem, const Tile& tile, int units);

/// Rows of a decode task, at most; more rows go the way of prefill.
inline constexpr std::int64_t kDecodeRows = 8;
bool is_decode(std::int64_t longest_q, std::int64_t group);

/// Upper bound of Plan::slots whatever the lengths are, and rows of a slot.
std::int64_t most_slots(const TaskProblem& problem, int units);
std::int64_t slot_rows(const TaskProblem& problem, const Tile& tile);

/// What a launch executes, counted from the plan that the launch itself walks.
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

/// True where this process multiplies pairs of bf16: the CPU has AVX-512 BF16 and AVX-512 is among
/// the targets that may be used.
bool has_dot();
/// True where this CPU looks up bytes in tables of 128 (AVX-512 VBMI).
bool has_lookup();

/// What multiplies: floats, pairs of bf16 in a lane, or tiles of bf16.
enum class Products : std::uint8_t { floats, pairs, tiles };

/// What of a call decides that.
struct TypesOfCall {
    DType dtype, kv_dtype;
    bool decode, token_scales;
    std::int64_t headdim, headdim_v;
};

/// On a CPU that multiplies pairs, and tiles. Both are for operands that are exact in bf16: prefill
/// brings K and V into that form, e4m3 too, which has fewer exponent and mantissa bits; decode
/// takes them as they are stored. They have no room for a scale of a token. Tiles are for head dims
/// that fill them, 32 columns deep and 16 wide.
constexpr Products products_on(const TypesOfCall& call, bool has_pairs, bool has_tiles) {
    const bool exact =
        call.dtype == DType::bf16 &&
        (call.kv_dtype == DType::bf16 || (call.kv_dtype == DType::e4m3 && !call.decode));
    if (!has_pairs || !exact || call.token_scales) {
        return Products::floats;
    }
    const bool whole = call.headdim % bf16_tile_depth == 0 && call.headdim_v % bf16_tile_rows == 0;
    return has_tiles && whole && !call.decode ? Products::tiles : Products::pairs;
}
TypesOfCall types_of(const Workload& workload);
/// In this process.
Products products_of(const TypesOfCall& call);

/// One task: rows of a work tile, K/V heads [head0, head1).
struct Task {
    const AttentionCall* args;
    const TaskProblem* problem;
    WorkTile work_tile;
    std::int64_t head0, head1;
    std::int64_t tile_rows, tile_keys;
    Products products;
    float* scratch;   ///< of this thread
    float* partials;  ///< slots of `slot_stride` floats
    std::int64_t slot_stride;
};

/// A task and what all its parts read of its call.
struct TaskCall {
    const Task& task;
    const AttentionCall& args;
    std::size_t headdim, headdim_v;

    explicit TaskCall(const Task& its)
        : task(its),
          args(*its.args),
          headdim(static_cast<std::size_t>(args.headdim)),
          headdim_v(static_cast<std::size_t>(args.headdim_v)) {}
};

void run_prefill(const Task& task);
void run_decode(const Task& task);

/// `count` floats times `factor`, as elements of the output's type.
void store_output(const float* from, float factor, DType type, std::int64_t count, void* to);

}  // namespace raceline::kernels::cpu_flash
