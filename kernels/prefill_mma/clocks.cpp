// SPDX-License-Identifier: Apache-2.0
// Chains and instructions are read from the machine code that nvcc 13.0 makes for sm_90 and bf16:
// sums of its stall counts along the way that most blocks go, as linear forms in what a warp does.
// They meet all tiles within 10 % (28 of 29 blocks within 7 %; ends of pairs within 11 %, numbers
// of instructions at the start within 14 %). What a warp waits for beside its stall counts is
// added.
#include "kernels/prefill_mma/clocks.hpp"

#include <algorithm>

namespace raceline::kernels::prefill_mma {
namespace {

// Issue slots that an instruction takes. Those of the ALU (maxima, comparisons, conversions) take
// two clocks of it, multiply-adds one (CUDA C++ Programming Guide, throughput of instructions); how
// long a product or a fragment keeps others from being issued is not documented. The one number
// here that is fitted: to the rows of head dim 128 of two receipts of an H200, blocks in each
// other's way (2026-11-22-compare-prefill_mma-7c7c6491c7c9) and alone, with one row a head
// (2026-11-21-ladder-8fa52fe0c517).
constexpr double slots = 1.8;

// Fragments from shared memory twice (ldmatrix, 29 clocks: arXiv 2402.13499, H100), the last
// product and the vote on the maxima (33 and 12, assumed).
constexpr double fragment_latency = 29;
constexpr double vote = 12;
constexpr double waits_of_block = 2 * fragment_latency + 33 + vote;
// With one stage warps meet twice a block (as long as a vote, assumed).
constexpr double barrier = vote;
// Of warps that share rows, for each other: the vote and the probabilities go through shared memory
// and past a barrier.
constexpr double waits_of_pair = 2 * (fragment_latency + barrier);

// Of the chain, for one product.
constexpr double clocks_of_product = 6.4;

// 16 bytes a lane are four clocks of shared memory (128 bytes a clock: CUDA C++ Programming Guide),
// and a group has four warps that ask for them.
constexpr double wide_access = 4 * 4;

// Of one warp in one block: 16 × 8 × 16 products, fragments, copies of a thread, scores of a lane.
struct Instructions {
    double products, fragments, copies, scores;
};

Instructions instructions_of(const Tile& t) {
    const double depth = t.headdim / 16.0;
    const double of_k = t.warp_keys() / 16.0 * depth;
    const double of_v = t.keys / 16.0 * t.warp_columns() / 16;
    const double of_q = t.q_registers != 0 ? 0 : t.row_groups() * depth;
    return {2 * t.row_groups() * (of_k + of_v), of_k + of_v + of_q,
            (t.k_bytes() + t.v_bytes()) / 16.0 / t.threads(), t.row_groups() * t.warp_keys() / 2.0};
}

// A slot beyond an instruction's own clock, which its stall count holds, makes the chain longer.
GroupClocks issued(double chain, double instructions) {
    GroupClocks c;
    c.issued = slots * instructions;
    c.chain = chain + c.issued - instructions;
    return c;
}

// A tanh for each score: 16 instructions, most of them multiply-adds, and two exponential units'.
void add_softcap(GroupClocks& c, double scores) {
    c.chain += 18.5 * scores;
    c.issued += 16 * scores;
    c.exponentials += 2 * 8 * scores;
}

}  // namespace

double clocks_behind(const GroupClocks& work, const Queues& queues) {
    return work.chain + work.tensor * queues.tensor + work.shared * queues.shared +
           work.exponentials * queues.exponentials + work.issued * queues.issue;
}

// Mean value analysis of a closed network (Reiser and Lavenberg, 1980): who comes finds what one
// fewer would leave there. A group's own time at a station is in its chain: only others' adds.
Queues queues_among(const GroupClocks& block, int groups) {
    Queues queues;
    for (int n = 1; n < groups; ++n) {
        const double blocks_a_clock = n / clocks_behind(block, queues);
        queues = {blocks_a_clock * block.tensor * (1 + queues.tensor),
                  blocks_a_clock * (block.shared + block.copies) * (1 + queues.shared),
                  blocks_a_clock * block.exponentials * (1 + queues.exponentials),
                  blocks_a_clock * block.issued * (1 + queues.issue)};
    }
    return queues;
}

BlockCode block_code(const Tile& t) {
    const Instructions of = instructions_of(t);
    return {430 + clocks_of_product * of.products + 4.2 * of.scores,
            160 + of.products + of.fragments + 2.5 * of.copies + 4.5 * of.scores};
}

GroupClocks block_clocks(const Tile& t, double flops_per_clock, bool softcap) {
    constexpr double flops_of_product = 2.0 * 16 * 8 * 16;
    const Instructions of = instructions_of(t);
    const BlockCode code = block_code(t);
    const double product = 4 * flops_of_product / flops_per_clock;  // on a fourth of the SM
    // Where products follow one another more slowly than sm_90's code has them, chains are longer.
    const double slower = std::max(0.0, product - clocks_of_product) * of.products;
    const double waits = waits_of_block + (t.stages == 1 ? barrier : 0);
    GroupClocks c = issued(code.clocks + slower + waits, code.instructions);
    c.tensor = product * of.products;
    c.shared = wide_access * of.fragments;
    if (t.sharers == 2) {
        c.chain += waits_of_pair;
        c.shared += wide_access * 2 * of.scores / 8;  // eight probabilities, given and taken
    }
    c.copies = wide_access * of.copies;
    c.exponentials = 8 * of.scores;  // four lanes a clock (CUDA C++ Programming Guide)
    if (softcap) {
        add_softcap(c, of.scores);
    }
    return c;
}

// By one bound or by both: 4 to 7 clocks a score.
GroupClocks mask_clocks(const Tile& t) {
    const double scores = instructions_of(t).scores;
    return issued(6 * scores, 3 * scores);
}

// Four integer divisions wait for a reciprocal between two conversions each (3 × 18, assumed), and
// all warps for what comes of them through shared memory. The bases take two rows of 16 and every
// column of the output.
GroupClocks start_clocks(const Tile& t) {
    const double bytes = t.q_bytes() + t.k_bytes() + (t.stages == 2 ? t.v_bytes() : 0);
    const double copies = bytes / 16 / t.threads();
    const double columns = t.warp_columns() / 2.0;
    return issued(
        850 + 12 * copies + 4 * 3 * 18 + fragment_latency + t.row_groups() * (45 + columns),
        300 + 8 * copies + t.row_groups() * (22 + columns));
}

GroupClocks finish_clocks(const Tile& t) {
    return issued(440 + t.row_groups() * (935 + 2.2 * t.warp_columns()),
                  120 + t.row_groups() * (295 + 1.9 * t.warp_columns()));
}

}  // namespace raceline::kernels::prefill_mma
