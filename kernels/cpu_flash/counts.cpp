// SPDX-License-Identifier: Apache-2.0
#include "model/counts.hpp"

#include <algorithm>
#include <cmath>

#include "device/device.hpp"
#include "kernels/cpu_flash/plan.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::cpu_flash {
namespace {

/// Problem of a workload, with the arrays that its lengths point into.
struct Shaped {
    TaskProblem problem;
    std::vector<std::int32_t> cu_q, cu_k;

    explicit Shaped(const Workload& w) : problem{problem_of(w)} {
        if (w.ragged()) {
            cu_q.push_back(0);
            cu_k.push_back(0);
            for (std::int64_t b = 0; b < w.batch; ++b) {
                cu_q.push_back(cu_q.back() + static_cast<std::int32_t>(w.length_q(b)));
                cu_k.push_back(cu_k.back() + static_cast<std::int32_t>(w.length_k(b)));
            }
        }
        TaskProblem& p = problem;
        p.lengths = {w.ragged() ? cu_q.data() : nullptr, w.ragged() ? cu_k.data() : nullptr,
                     nullptr, w.seqlen_q, w.seqlen_k};
        // Sequences of one length are split alike: one stands for all.
        p.batch = w.ragged() ? w.batch : std::min<std::int64_t>(w.batch, 1);
        p.copies = w.ragged() ? 1 : std::max<std::int64_t>(w.batch, 1);
    }
};

/// How the SIMD target of the device lays out panels; the same numbers as in gemm-inl.hpp.
struct Target {
    std::int64_t lanes;
    std::int64_t vectors;
    Products products;
    bool dot;
    /// Whether decode looks e4m3 up. No member of Device says so. It is taken from has_bf16_dot,
    /// which is wrong of Cooper Lake (no look-ups) and of Ice Lake (look-ups without pairs).
    bool looks_up;

    Target(const Workload& w, const Device& device) {
        lanes = std::max(4, device.simd_bits / 32);
        vectors = lanes == 16 ? 4 : 2;
        products = products_on(types_of(w), device.has_bf16_dot, device.has_bf16_tiles);
        dot = products != Products::floats;
        looks_up = device.has_bf16_dot;
    }
    /// Lanes that are computed for so many rows of a panel.
    [[nodiscard]] std::int64_t width(std::int64_t rows) const {
        if (vectors == 4 && rows > 2 * lanes) {
            return 4 * lanes;
        }
        return rows > lanes ? 2 * lanes : lanes;
    }
};

struct Amounts {
    double products = 0;  ///< multiplier lanes × 2 (pairs: × 4), or of whole tiles, flops
    double exponentials = 0;
    double simd = 0;
    double l2 = 0;  ///< bytes
    double l1 = 0;  ///< bytes of tiles that come and go; other operands are not counted there

    Amounts& operator+=(const Amounts& o) {
        products += o.products;
        exponentials += o.exponentials;
        simd += o.simd;
        l2 += o.l2;
        l1 += o.l1;
        return *this;
    }
    [[nodiscard]] Amounts times(double factor) const {
        return {products * factor, exponentials * factor, simd * factor, l2 * factor, l1 * factor};
    }
    [[nodiscard]] Work work(Products by) const {
        ::raceline::Work work{{by == Products::tiles   ? "flop.amx.bf16"
                               : by == Products::pairs ? "flop.dot.bf16"
                                                       : "flop.fma.fp32",
                               products},
                              {"op.exp", exponentials},
                              {"op.simd", simd},
                              {"byte.l2", l2}};
        if (l1 > 0) {
            work["byte.l1"] = l1;
        }
        return work;
    }
};

/// A store takes a port for a cycle, in which two plain operations could start.
constexpr Constant store_slots =
    manual("cpu_flash.store_slots", 2,
           "one 512-bit store a cycle: AMD's optimization guide for family 1Ah, Intel's for server "
           "cores since Skylake");

/// `keys` keys against one panel, in blocks of `block` keys, as step_panel runs them: whole tiles
/// of keys where the products take these.
Amounts panel_step(const Workload& w, const Target& target, std::int64_t width, std::int64_t keys,
                   std::int64_t block, bool masked) {
    Amounts a;
    const double scores = static_cast<double>(keys * width);
    const std::int64_t d = target.dot ? (w.headdim + 1) / 2 * 2 : w.headdim;
    const std::int64_t at_once = target.dot ? 2 : 1;
    const std::int64_t whole = (keys + at_once - 1) / at_once * at_once;
    const double padded = static_cast<double>(whole * width);
    a.products =
        2 * scores * static_cast<double>(d) + 2 * padded * static_cast<double>(w.headdim_v);
    a.exponentials = scores;
    // Peak, scaling of the score, sum; for pairs of bf16 a rounding and an interleaving.
    a.simd = (counted(3, "peak, scaling, sum") + (target.dot ? 1 : 0)) * scores;
    // A score is stored by the first product, its exponential for the second.
    a.simd += 2 * store_slots * scores;
    // All panels of a task pass over a block before the next: a panel's Q and O, and the block,
    // have left L1 by then. O comes and goes.
    const double operand = target.dot ? 2 : 4;
    // Four tiles of operands for four products of 32 rows and 32 lanes; sums come and go where the
    // second product adds to what is there.
    if (target.products == Products::tiles) {
        constexpr double side = 2 * bf16_tile_rows;
        constexpr double four_tiles = side * side * sizeof(float);
        const double depth = static_cast<double>(block) / bf16_tile_depth;
        a.l1 = padded / (side * side) * four_tiles *
               (static_cast<double>(w.headdim) / bf16_tile_depth + 1 +
                static_cast<double>(w.headdim_v) / side * (depth + 2) / depth);
    }
    const auto columns = static_cast<double>(w.headdim);
    const auto columns_v = static_cast<double>(w.headdim_v);
    const double blocks = static_cast<double>(keys) / static_cast<double>(block);
    a.l2 = blocks * static_cast<double>(width) * (operand * columns + 8 * columns_v) +
           static_cast<double>(keys) * operand * (columns + columns_v);
    a.simd += masked ? 4 * scores : 0;
    // tanh: its operations and a division.
    a.simd += w.softcap > 0 ? counted(26, "tanh in elements-inl.hpp") * scores : 0;
    return a;
}

Amounts prefill_work(const Workload& w, const TaskProblem& p, const Target& target,
                     const Tile& tile, const WorkTile& work_tile) {
    Amounts sum;
    const std::int64_t panel_rows = target.vectors * target.lanes;
    for (std::int64_t row = 0; row < work_tile.rows; row += panel_rows) {
        const std::int64_t rows = std::min(panel_rows, work_tile.rows - row);
        const auto span = [&](std::int64_t r) {
            const KeySpan s = visible_keys(p, work_tile.sequence, (work_tile.row0 + r) / p.group());
            const std::int64_t low = std::clamp(s.first, work_tile.key0, work_tile.key1);
            return KeySpan{low, std::clamp(s.last, low, work_tile.key1)};
        };
        const KeySpan first = span(row);
        const KeySpan last = span(row + rows - 1);
        const std::int64_t width = target.width(rows);
        std::int64_t low = first.first;
        std::int64_t high = std::max(low, last.last);
        if (target.products == Products::tiles && low < high) {
            low -= (low - work_tile.key0) % bf16_tile_depth;
            high = low + (high - low + bf16_tile_depth - 1) / bf16_tile_depth * bf16_tile_depth;
        }
        // Blocks inside [last.first, first.last), which every row sees, need no mask. Blocks are
        // counted from the work tile's first key; those at the ends stop at low and high.
        const auto down = [&](std::int64_t key) {
            return work_tile.key0 + (key - work_tile.key0) / tile.keys * tile.keys;
        };
        const std::int64_t from = low >= last.first ? low : down(last.first + tile.keys - 1);
        const std::int64_t to = high <= first.last ? high : down(first.last);
        const std::int64_t plain = std::clamp<std::int64_t>(to - from, 0, high - low);
        sum += panel_step(w, target, width, plain, tile.keys, false);
        sum += panel_step(w, target, width, high - low - plain, tile.keys, true);
        // Q into lanes and O out of them, each through a transposition; O cleared.
        sum.simd += static_cast<double>(width) *
                    (counted(3, "Q into lanes") * static_cast<double>(w.headdim) +
                     counted(4, "O out of lanes, cleared") * static_cast<double>(w.headdim_v));
    }
    // Each key is copied, widened or interleaved once a task, and takes its scale if it has one.
    sum.simd += (counted(2, "read and written") +
                 (w.has_token_scales() ? counted(1, "times its scale") : 0)) *
                static_cast<double>((work_tile.key1 - work_tile.key0) * (w.headdim + w.headdim_v));
    if (target.products == Products::tiles) {
        sum.simd += counted(1.5, "pairs of values into rows of keys, three for two elements") *
                    static_cast<double>((work_tile.key1 - work_tile.key0) * w.headdim_v);
    }
    return sum;
}

/// Few rows: lanes along the head dim, rounded up to whole vectors.
Amounts decode_work(const Workload& w, const Target& target, const WorkTile& work_tile) {
    Amounts a;
    const auto whole = [&](std::int64_t n) {
        const std::int64_t vectors = (n + target.lanes - 1) / target.lanes;
        return static_cast<double>(vectors * target.lanes);
    };
    const auto keys = static_cast<double>(work_tile.key1 - work_tile.key0);
    const auto rows = static_cast<double>(work_tile.rows);
    a.products = 2 * keys * rows * (whole(w.headdim) + whole(w.headdim_v));
    a.exponentials = keys * rows;
    // Summing lanes takes about three operations a lane and four scores; a score is hidden behind
    // peak, scale, sum.
    a.simd = keys * rows *
             (counted(3, "sum of lanes") * static_cast<double>(target.lanes) +
              counted(4, "peak, scaling, sum of a score"));
    if (w.has_token_scales()) {
        a.simd +=
            keys * (rows * counted(2, "a score's scale, a weight's") +
                    static_cast<double>(target.lanes) * counted(2, "two scales put in place"));
    }
    // Outputs are stored after every step of four keys.
    a.simd += store_slots * keys / 4 * rows * whole(w.headdim_v);
    if (target.dot) {
        // Two keys' rows of V are interleaved, a shuffle a stored vector; P is rounded and stored.
        a.simd += keys * whole(w.headdim_v) / 2 +
                  counted(10, "a probability rounded and stored") * keys * rows;
    } else if (w.kv_dtype != DType::fp32) {
        // Without look-ups e4m3 is stored widened where more rows read it than share a load; others
        // are widened at each load, counted once.
        const double stored = rows > (target.vectors == 4 ? 4 : 2) ? store_slots * 1.0 : 0;
        const double slots =
            w.kv_dtype != DType::e4m3 ? 1
            : target.looks_up && stored == 0
                ? counted(3.25,
                          "of 64 bytes: two look-ups of three, a sign, two shuffles, four "
                          "vectors of floats")
                : counted(5.5,
                          "e4m3 widened: six operations of 16 bits, two conversions of two, "
                          "a half moved") +
                      stored;
        a.simd += slots * keys * (whole(w.headdim) + whole(w.headdim_v));
    }
    return a;
}

Work with_traffic(const Workload& w, Work work, double share) {
    work["byte.dram_read"] = share * (w.bytes_q() + w.bytes_kv());
    work["byte.dram_write"] = share * w.bytes_out();
    return work;
}

}  // namespace

TypesOfCall types_of(const Workload& w) {
    return {w.dtype,   w.kv_dtype, is_decode(w.seqlen_q, w.group()), w.has_token_scales(),
            w.headdim, w.headdim_v};
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Shaped shaped(w);
    const TaskProblem& p = shaped.problem;
    const CountedPlan plan = count_plan(p, tile, std::max(1, device.units));
    const Target target(w, device);
    const auto copies = static_cast<double>(p.copies);
    const auto heads = static_cast<double>(p.heads_kv);
    const double heads_a_task =
        std::ceil(heads / static_cast<double>(std::max<std::int64_t>(1, plan.head_ranges)));
    Amounts total;
    Amounts heaviest;
    double streamed = 0;  // bytes of K and V that all tasks read together
    const double key_bytes =
        static_cast<double>(w.headdim + (w.mla ? 0 : w.headdim_v)) * bytes_of(w.kv_dtype) +
        (w.has_token_scales() ? 2.0 * sizeof(float) : 0.0);
    for (const auto& [work_tile, times] : plan.work_tiles) {
        const Amounts one = plan.decode ? decode_work(w, target, work_tile)
                                        : prefill_work(w, p, target, tile, work_tile);
        const double alike = copies * heads * static_cast<double>(times);
        total += one.times(alike);
        heaviest = one.products > heaviest.products ? one : heaviest;
        streamed += alike * static_cast<double>(work_tile.key1 - work_tile.key0) * key_bytes;
    }
    for (const auto& [split, times] : plan.splits) {
        // Combining scales and adds every part; writing it was counted with the task's end.
        const auto parts = static_cast<double>(split.parts * split.rows * times);
        total.simd += copies * heads * 2 * parts * static_cast<double>(w.headdim_v);
    }
    const Amounts task = heaviest.times(heads_a_task);
    const double share = total.products > 0 ? task.products / total.products : 1;
    Counts main;
    main.launch = "main";
    main.work = with_traffic(w, total.work(target.products), 1);
    main.ctas = plan.tasks * p.copies;
    main.steps.push_back({"blocks", 1, with_traffic(w, task.work(target.products), share), ""});
    main.imbalance = std::max(1.0, share * static_cast<double>(main.ctas));
    main.balanced_order = true;
    if (streamed > w.bytes_kv()) {
        // Row blocks are the outer order of tasks, heads the inner: all of K and V between passes.
        main.reread.push_back({streamed - w.bytes_kv(), w.bytes_kv()});
    }
    // Multiplications, exponentials and plain operations fill the same ports one after another, and
    // memory is laid end to end with them: prefill copies a block of K and V before it works on it.
    // Decode asks 8 KiB ahead and hides a part, so that this is an upper estimate for it; side by
    // side, nine decodes on a Xeon came out 27 % too fast in the median, end to end they are 12
    // off.
    return {main};
}

}  // namespace raceline::kernels::cpu_flash
