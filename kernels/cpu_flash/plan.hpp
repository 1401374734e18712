// SPDX-License-Identifier: Apache-2.0
// How a launch is cut into tasks. Used by the launch and by the counts, so that the model counts
// exactly what runs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu_flash/tile.hpp"
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

/// A problem with what else decides how it is cut on a CPU.
struct CutProblem : Problem {
    Lengths lengths = {};
    /// K and V keep the tokens of a head together, not the heads of a token.
    bool head_major = false;
    /// Batches like this one that are cut together with it: the counts look at one of many equal
    /// sequences.
    std::int64_t copies = 1;
};
CutProblem cut_problem_of(const AttentionArgs& args);

/// Keys that query i of a sequence sees: [first, last).
struct KeySpan {
    std::int64_t first, last;
};
KeySpan visible_keys(const CutProblem& problem, std::int64_t sequence, std::int64_t query);

/// Rows [row0, row0 + rows) of one sequence against keys [key0, key1), for every K/V head. Row r is
/// query r / group of head r % group within the group.
struct Piece {
    std::int64_t sequence;
    std::int64_t row0, rows;
    std::int64_t key0, key1;
    std::int64_t slot;  ///< first of the partial results of this piece, -1: it is the whole answer
};

/// Rows whose keys were split: their partial results are merged.
struct Split {
    std::int64_t sequence;
    std::int64_t row0, rows;
    std::int64_t slot;  ///< of the first piece; piece i of head h is at slot + i * heads_kv + h
    std::int64_t pieces;
};

struct Plan {
    bool decode = false;           ///< few rows: lanes along the head dim, memory bound
    std::int64_t head_ranges = 1;  ///< a piece makes this many tasks, each a range of K/V heads
    std::vector<Piece> pieces;     ///< heaviest first where the lengths are equal
    std::vector<Split> splits;
    std::int64_t slots = 0;
    [[nodiscard]] std::int64_t tasks() const {
        return static_cast<std::int64_t>(pieces.size()) * head_ranges;
    }
};
Plan make_plan(const CutProblem& problem, const Tile& tile, int units);

/// Rows of a decode task, at most; more rows go the way of prefill.
inline constexpr std::int64_t kDecodeRows = 8;
bool is_decode(std::int64_t longest_q, std::int64_t group);

/// Upper bound of Plan::slots whatever the lengths are, and rows of a slot.
std::int64_t most_slots(const CutProblem& problem, int units);
std::int64_t slot_rows(const CutProblem& problem, const Tile& tile);

/// What a launch executes, counted by walking the plan that the launch itself walks.
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::cpu_flash
