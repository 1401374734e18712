// SPDX-License-Identifier: Apache-2.0
// Chains and instructions are read from the machine code that nvcc 13.0 makes for sm_90 and bf16:
// sums of its stall counts along the way that most blocks go, as linear forms in what a warp does.
// They meet all tiles within 10 % (28 of 29 blocks within 7 %; ends of pairs within 11 %, numbers
// of instructions at the start within 14 %). What a warp waits for beside its stall counts is
// added.
#include <algorithm>

#include "kernels/prefill_mma/counts.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

// Issue slots that an instruction takes. Those of the ALU (maxima, comparisons, conversions) take
// two clocks of it, multiply-adds one (CUDA C++ Programming Guide, throughput of instructions); how
// long a product or a fragment keeps others from being issued is not documented. Fitted.
constexpr Constant slots = calibrated(
    "prefill_mma.slots_of_instruction", 1.8,
    "rows of head dim 128 of receipts/h200/2026-11-22-compare-prefill_mma-7c7c6491c7c9 (blocks in "
    "each "
    "other's way) and 2026-11-21-ladder-8fa52fe0c517 (one row a head)",
    1, "an instruction takes one slot: CUDA C++ Programming Guide, throughput of instructions");

constexpr Constant waits_in_line = calibrated(
    "prefill_mma.waits_in_line", 1,
    "the queueing model of clocks_among was chosen among others with the times of prefill_mma at "
    "hand (receipts/h200/2026-11-22-compare-prefill_mma-7c7c6491c7c9)",
    0, "bounds that hold for any order of service: Denning and Buzen, operational analysis, 1978");

// Fragments from shared memory twice (ldmatrix, 29 clocks: arXiv 2402.13499, H100), the last
// product and the vote on the maxima.
constexpr Constant fragment_latency =
    manual("prefill_mma.fragment_latency", 29, "ldmatrix: arXiv 2402.13499, H100");
constexpr Constant last_product =
    assumed("prefill_mma.last_product", 33, "latency of the last mma.sync");
constexpr Constant vote = assumed("prefill_mma.vote", 12, "a vote; a barrier with all warps there");
// Of warps that share rows, for each other: the vote and the probabilities go through shared memory
// and past a barrier.
double waits_of_pair() {
    return 2 * (fragment_latency + vote);
}

// Stall counts and instructions of the loop of blocks, as linear forms (see above).
constexpr Constant block_chain =
    code("prefill_mma.block.chain", 430, "stall counts of the loop of blocks");
constexpr Constant clocks_of_product =
    code("prefill_mma.block.chain_of_product", 6.4, "the same, for each mma.sync");
constexpr Constant chain_of_score =
    code("prefill_mma.block.chain_of_score", 4.2, "the same, for each score of a lane");
constexpr Constant block_issue =
    code("prefill_mma.block.instructions", 160, "instructions of the loop of blocks");
constexpr Constant issue_of_copy = code("prefill_mma.block.instructions_of_copy", 2.5,
                                        "the same, for each copy of 16 bytes of a thread");
constexpr Constant issue_of_score =
    code("prefill_mma.block.instructions_of_score", 4.5, "the same, for each score of a lane");
constexpr Constant tanh_chain =
    code("prefill_mma.softcap.chain_of_score", 18.5, "stall counts of a tanh");
constexpr Constant tanh_issue =
    code("prefill_mma.softcap.instructions_of_score", 16, "instructions of a tanh");
constexpr Constant mask_chain =
    code("prefill_mma.mask.chain_of_score", 6, "stall counts of a masked block");
constexpr Constant mask_issue =
    code("prefill_mma.mask.instructions_of_score", 3, "instructions of a masked block");
constexpr Constant start_chain =
    code("prefill_mma.start.chain", 850, "stall counts before the first block");
constexpr Constant start_chain_of_copy =
    code("prefill_mma.start.chain_of_copy", 12, "the same, for each copy of 16 bytes of a thread");
constexpr Constant start_chain_of_rows =
    code("prefill_mma.start.chain_of_rows", 45, "the same, for the bases of 16 rows");
constexpr Constant start_issue =
    code("prefill_mma.start.instructions", 300, "instructions before the first block");
constexpr Constant start_issue_of_copy = code("prefill_mma.start.instructions_of_copy", 8,
                                              "the same, for each copy of 16 bytes of a thread");
constexpr Constant start_issue_of_rows =
    code("prefill_mma.start.instructions_of_rows", 22, "the same, for the bases of 16 rows");
constexpr Constant conversion = assumed("prefill_mma.start.conversion", 18,
                                        "between integer and float; a division waits for three");
constexpr Constant finish_chain =
    code("prefill_mma.finish.chain", 440, "stall counts behind the last block");
constexpr Constant finish_chain_of_rows =
    code("prefill_mma.finish.chain_of_rows", 935, "the same, for 16 rows");
constexpr Constant finish_chain_of_column =
    code("prefill_mma.finish.chain_of_column", 2.2, "the same, for 16 rows of a column");
constexpr Constant finish_issue =
    code("prefill_mma.finish.instructions", 120, "instructions behind the last block");
constexpr Constant finish_issue_of_rows =
    code("prefill_mma.finish.instructions_of_rows", 295, "the same, for 16 rows");
constexpr Constant finish_issue_of_column =
    code("prefill_mma.finish.instructions_of_column", 1.9, "the same, for 16 rows of a column");

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
    c.chain += tanh_chain * scores;
    c.issued += tanh_issue * scores;
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

double clocks_among(const GroupClocks& work, const GroupClocks& block, int groups) {
    if (waits_in_line == 0) {
        const double busiest =
            std::max({work.tensor, work.shared + work.copies, work.exponentials, work.issued});
        return std::max(work.chain, groups * busiest);
    }
    return clocks_behind(work, queues_among(block, groups));
}

BlockCode block_code(const Tile& t) {
    const Instructions of = instructions_of(t);
    return {block_chain + clocks_of_product * of.products + chain_of_score * of.scores,
            block_issue + of.products + of.fragments + issue_of_copy * of.copies +
                issue_of_score * of.scores};
}

GroupClocks block_clocks(const Tile& t, double flops_per_clock, bool softcap) {
    constexpr double flops_of_product = 2.0 * 16 * 8 * 16;
    const Instructions of = instructions_of(t);
    const BlockCode code = block_code(t);
    const double product = 4 * flops_of_product / flops_per_clock;  // on a fourth of the SM
    // Where products follow one another more slowly than sm_90's code has them, chains are longer.
    const double slower = std::max(0.0, product - clocks_of_product) * of.products;
    // With one stage warps meet twice a block.
    const double waits = 2 * fragment_latency + last_product + vote + (t.stages == 1 ? vote : 0.0);
    GroupClocks c = issued(code.clocks + slower + waits, code.instructions);
    c.tensor = product * of.products;
    c.shared = wide_access * of.fragments;
    if (t.sharers == 2) {
        c.chain += waits_of_pair();
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
    return issued(mask_chain * scores, mask_issue * scores);
}

// Four integer divisions wait for a reciprocal between two conversions each, and
// all warps for what comes of them through shared memory. The bases take two rows of 16 and every
// column of the output.
GroupClocks start_clocks(const Tile& t) {
    const double bytes = t.q_bytes() + t.k_bytes() + (t.stages == 2 ? t.v_bytes() : 0);
    const double copies = bytes / 16 / t.threads();
    const double columns = t.warp_columns() / 2.0;
    return issued(start_chain + start_chain_of_copy * copies +
                      4 * counted(3, "conversions of a division") * conversion + fragment_latency +
                      t.row_groups() * (start_chain_of_rows + columns),
                  start_issue + start_issue_of_copy * copies +
                      t.row_groups() * (start_issue_of_rows + columns));
}

GroupClocks finish_clocks(const Tile& t) {
    return issued(finish_chain + t.row_groups() * (finish_chain_of_rows +
                                                   finish_chain_of_column * t.warp_columns()),
                  finish_issue + t.row_groups() * (finish_issue_of_rows +
                                                   finish_issue_of_column * t.warp_columns()));
}

}  // namespace raceline::kernels::prefill_mma
