// SPDX-License-Identifier: Apache-2.0
// What launches with tiles of query rows declare beside their own steps.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#pragma once

#include <string>
#include <vector>

#include "ladder/tracks/rows.hpp"
#include "model/counts.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::tracks {

/// What a warp executes, read from the machine code that nvcc makes for sm_90 and held to it by a
/// test. Clocks are the compiler's stall counts, and what the code waits for shared memory,
/// shuffles and exponentials; waits for global memory are counted as such.
struct Code {
    double instructions, clocks;
};

// A shared-memory access of a warp takes a pass for every 128 bytes that go to registers, sixteen
// bytes a lane four. Where neighbouring lanes read the same, two registers fill in one pass: two
// (forums.developer.nvidia.com/t/77228, said of compute capability 7). No access takes more.
inline constexpr double pass_bytes = 128;
inline constexpr double quad_passes = 4;
inline constexpr double shared_quad_passes = 2;  ///< neighbouring lanes read the same 16 bytes

/// Of a row of a table: (64, 128) × (fp32, fp16).
int registers_of(const std::array<int, 4>& row, const Workload& w);

/// Bytes of Shared<rows, headdim>, for one of these numbers of rows.
template <template <int, int> class Shared, int... known>
std::int64_t smem_bytes_of(std::int64_t rows, std::int64_t headdim) {
    const auto bytes = [&]<int r>() -> std::size_t {
        return headdim == 64 ? sizeof(Shared<r, 64>) : sizeof(Shared<r, 128>);
    };
    return static_cast<std::int64_t>(
        ((rows == known ? bytes.template operator()<known>() : 0) + ...));
}

/// A step of a CTA: `working` threads that execute `code`, their passes through shared memory, and
/// what else they do.
Step role(std::string name, double repeat, const Code& code, double working, double passes,
          Work more);

/// What runs side by side in every launch; `products`: the id of the resource that multiplies.
std::vector<std::vector<std::string>> overlap_of(const char* products);

/// A launch with the CTAs of `cover`; without its threads and its work.
Counts launch_counts(const char* launch, const TileCover& cover, const char* products);

/// Adds the DRAM traffic of a call whose operands are read, and whose answers are written, once.
void add_traffic(Counts& c, const Workload& w);

/// What the first use of an operand waits for. Row tiles of a head pass over the same keys: all but
/// the first find them in the L2.
const char* operands_of(const Workload& w, int rows);

/// A launch whose CTAs walk over the key tiles of their rows.
struct Walk {
    const char* launch = "forward";
    const char* products;  ///< id of the resource that multiplies
    int rows, threads, registers;
    std::int64_t smem_bytes;
    std::vector<Step> tile{};  ///< the roles of one tile; the first one loads, `byte.l2`
    Step once{};               ///< "setup" before the tiles, or "rest" around them
};
/// Traffic of DRAM, and what is read again, is left to the rung.
Counts walk_counts(const Workload& w, const TileCover& cover, Walk walk);

/// The one launch of a rung that does it all in one pass over K and V.
std::vector<Counts> one_pass_counts(const Workload& w, Walk walk);

}  // namespace raceline::kernels::tracks
