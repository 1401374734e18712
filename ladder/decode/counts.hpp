// SPDX-License-Identifier: Apache-2.0
// What the two launches of a decode rung move, from what the rung says of itself.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ladder/decode/plan.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::decode {

// Instructions and clocks are of one warp, read from the machine code for sm_90 (nvdisasm). Clocks
// are the compiler's stall counts and what it can only wait for: shared memory 29 (arXiv
// 2402.13499, H100); shuffles 24 and special functions 18 are assumed, no source for Hopper was at
// hand.
struct Code {
    double instructions, clocks;
};

inline constexpr double line = 128;  ///< bytes of one pass through shared memory, or of a shuffle
inline constexpr double lanes = 32;

/// How a CTA brings keys from memory to shared memory: loads that are under way at once.
struct Batch {
    Code code;
    double bytes;             ///< of K and V in memory
    double staged_bytes;      ///< in shared memory
    double lookups = 0;       ///< of a thread in the block table; 0: it has none
    double table_clocks = 0;  ///< of these, if the cache is paged
    bool ahead = false;       ///< they are waited for a tile later, behind its keys
};

/// The second launch: a warp reads so many parts at once.
struct Merge {
    int parts = 4;
    Code code{132, 222 + 4 * 18};      ///< of them
    double ends = 220, one_more = 70;  ///< instructions of warp 0, and for another warp's part
    double ends_clocks = 900;
    int registers = 48;
};

struct Form;
/// Setup, then tile by tile stage and keys, then what the warps know meets and leaves the CTA.
std::vector<Step> steps_of(const Form& f, double keys, double left_bytes);

/// The main launch. A rung starts from its predecessor's and changes what it does otherwise.
struct Form {
    double all_warps = warps;             ///< of a CTA
    double cta_rows = 1;                  ///< query heads of a CTA
    double packed = 1;                    ///< of a warp
    double key_warps = warps;             ///< that divide the keys
    double columns;                       ///< of V
    double q_bytes, kv_bytes, out_bytes;  ///< of a row of Q, of K and V of one key, of the output
    double tile_keys;
    bool paged = false;
    Code setup, finish;  ///< before the keys and after them
    Code tile{20, 60};   ///< the barriers and what stands before a tile's loops
    Batch stage;
    double keys_at_once = 1;  ///< of a warp's round
    Work keys{};              ///< of a round of all warps
    double key_clocks;
    int registers;               ///< as the compiler reports them for sm_90; a test compares
    double bytes_in_flight = 0;  ///< of a CTA; 0: those of a batch
    double readers = 1;          ///< CTAs that read the same keys
    /// They do so at the same time, so that what must stay in the L2 is what the resident CTAs
    /// hold. Otherwise it is all keys.
    bool readers_keep_pace = false;
    std::vector<std::vector<std::string>> overlap{
        {"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    Merge merge{};
    /// Of a CTA with so many keys that leaves so many bytes.
    std::vector<Step> (*steps)(const Form& f, double keys, double left_bytes) = steps_of;
};

/// A round in which every warp takes a key: for each of its rows the dot product, five shuffles,
/// two exponentials and the sum.
Work one_key(const Form& f, double instructions, double flops_a_row);

/// Batches of loads that bring `keys` keys: whole tiles, then what is left.
double batches_of(const Form& f, double keys);

/// The partial answers and, if the keys are split, their merge.
std::vector<Counts> counts_of(const Form& f, const Workload& w, const Plan& plan,
                              const Device& device);

/// Registers of a rung for 1, 2, 4 and 8 rows a warp. A line for head dim 64, one for 128; if there
/// are four, those of fp32 come first.
template <std::size_t lines>
int registers_of(const Form& f, const Workload& w, const std::array<int, 4> (&table)[lines]) {
    const bool halves = lines > 2 && w.dtype == DType::fp16;
    const std::size_t column = f.packed > 4 ? 3 : f.packed > 2 ? 2 : f.packed > 1 ? 1 : 0;
    return table[(halves ? 2 : 0) + (w.headdim == 128 ? 1 : 0)].at(column);
}

}  // namespace raceline::kernels::decode
