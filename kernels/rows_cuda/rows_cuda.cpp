// SPDX-License-Identifier: Apache-2.0
// Chains of rows on a GPU: record and counts.
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <utility>
#include <vector>

#include "kernels/rows_cuda/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "workload/compiled_chains.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::rows_cuda {
namespace {

RowProgram program_of(const Workload& w) {
    const std::vector<std::string_view> names = steps_of(w.word("steps"));
    std::vector<RowStep> chain;
    chain.reserve(names.size());
    for (const std::string_view name : names) {
        chain.push_back(find_row_step(name)->step);
    }
    return row_program(chain);
}

std::int64_t element_bytes(const Workload& w) {
    return static_cast<std::int64_t>(bytes_of(w.dtype));
}

bool is_whole(const RowProgram& program, const Workload& w) {
    return has_whole_chunks(program, w.extent(grid_rows), w.extent(grid_width), element_bytes(w));
}

/// Whether a chain has code that knows it, for rows of whole chunks.
bool is_compiled(const RowProgram& program, const Workload& w) {
    return compiled_index(program) < compiled_programs.size() && is_whole(program, w);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs a CUDA device";
    }
    const RowProgram program = program_of(w);
    const auto d = static_cast<std::uint64_t>(w.extent("d"));
    const std::uint64_t chunk = 16 / static_cast<std::uint64_t>(element_bytes(w));
    if (has_rope(program) && !(std::has_single_bit(d) && d >= 2 * chunk && d <= 32 * chunk)) {
        return fmt::format(
            "its rope turns heads of a power of two from {} to {} columns in {}, not of {}",
            2 * chunk, 32 * chunk, name_of(w.dtype), d);
    }
    if (!knows_rows(program) && !(is_flat(tile) && tile.chunks == 1)) {
        return "its elements do not know their row: CTAs of 256 threads take them as they lie, a "
               "chunk each";
    }
    if (is_longest(tile) && !(is_compiled(program, w) && has_code(program, w.dtype, tile))) {
        return "rows of eight chunks a thread are those of a known chain in fp32 that reduces one "
               "matrix";
    }
    if (!is_compiled(program, w) && !reads_any_chain(tile)) {
        return "its threads have registers for rows of known chains alone";
    }
    if (has_rope(program) && d > static_cast<std::uint64_t>(tile.lanes) * chunk) {
        return fmt::format("heads of {} columns lie in more lanes than the {} of a row", d,
                           tile.lanes);
    }
    const std::int64_t held = held_by(tile, element_bytes(w));
    if (has_reductions(program) && w.extent(grid_width) > held && !reads_wide_rows(tile)) {
        return fmt::format("a row of {} is wider than the {} elements that its threads hold",
                           w.extent(grid_width), held);
    }
    const RowLayout layout =
        layout_of(program, w.extent(grid_rows), w.extent(grid_width), tile, element_bytes(w));
    const bool fits = ctas_of(layout, tile) <= most_ctas &&
                      (!deals_out_pieces(program) || layout.rows * layout.pieces <= most_ctas);
    return fits ? "" : "it counts CTAs in 31 bits";
}

/// More where results are rounded to fp32: expf scales and brings two parts together, and a
/// quotient is refined.
double slots_to_fp32(RowOp op) {
    switch (op) {
        case RowOp::gelu: return counted(6, "expf") + counted(12, "quotient");
        case RowOp::silu:
        case RowOp::sigmoid: return counted(6, "expf") + counted(8, "quotient");
        case RowOp::exp: return counted(6, "expf");
        default: return 0;
    }
}

/// Instructions of a thread for one element of a step.
double slots_of(RowOp op) {
    switch (op) {
        case RowOp::gelu: return counted(8, "gelu: inner, ex2, sum, reciprocal, product");
        case RowOp::silu:
        case RowOp::sigmoid: return counted(5, "over_one_plus");
        case RowOp::tanh: return counted(20, "tanhf");
        case RowOp::exp: return counted(2, "ex2 and its product");
        case RowOp::rope: return counted(4, "shuffle, two products, a choice");
        case RowOp::relu: return counted(2, "compared and chosen");
        case RowOp::reduce_max: return counted(4, "compared, NaN kept, row's end");
        case RowOp::reduce_sum:
        case RowOp::reduce_squares: return counted(2, "added, row's end");
        case RowOp::store: return counted(1, "packed");
        case RowOp::add_matrix:
        case RowOp::sub_matrix:
        case RowOp::mul_matrix:
        case RowOp::add_vector:
        case RowOp::mul_vector: return counted(2, "widened, added");
        case RowOp::square:
        case RowOp::add_statistic:
        case RowOp::mul_statistic: return 1;
    }
    return 0;
}

/// Exponentials of the special function unit, and its reciprocals, an element.
double specials_of(RowOp op) {
    switch (op) {
        case RowOp::gelu:
        case RowOp::silu:
        case RowOp::sigmoid:
        case RowOp::tanh: return 2;
        case RowOp::exp: return 1;
        default: return 0;
    }
}

/// Instructions of a warp to decode a step and to address a chunk, where no code knows the chain.
constexpr double slots_of_step = counted(12, "loop over the program, switch, address");
// Round numbers, chosen so that sums come near the instructions that a profiler counted (not times;
// receipts/h200/2026-11-29-operations-odd-54bc5a0da3fd).
constexpr double slots_of_step_of_rows = counted(24, "the same with places in 64 bits");
/// Of a reduction among lanes: five exchanges and sums, twice where a row has several warps.
constexpr double slots_of_exchange = counted(10, "over_row");
// Beside the steps' elements: round numbers, chosen so that the sums meet the instructions that a
// profiler counted (not times; receipts/h200/2026-11-27-operations-*-2ed4b9a6823e). Of rows that
// came later it counted 0.95 to 1.1 times these, 1.3 times where gelu is rounded to fp32.
constexpr double slots_of_thread = counted(30, "its row and place, parameters, the way out");
constexpr double slots_of_chunk = counted(2, "whether it is there, its load and store");
constexpr double slots_of_operand = counted(12, "a chunk of another matrix: the same, and zeros");
constexpr double slots_of_angles = counted(20, "their place in the head, loads");
constexpr double slots_of_reduction = counted(25, "barrier, what warps left, its finish");
/// A chunk that is not whole, or not at a multiple of 16 bytes, goes element by element. Chosen
/// likewise.
constexpr double slots_of_lone_element = counted(17, "its bounds, place, load, put into its word") +
                                         counted(13, "its bounds, place, store");
/// CTAs that stay count in 64 bits, and have the places of every step ready before the first.
constexpr double slots_of_places =
    counted(150, "read_rows, a row of one piece: this and the next, by SASS");
// Their warps are few, and each waits for its own instruction before the next.
constexpr Constant dependent_clocks = calibrated(
    "rows_cuda.dependent_clocks", 6,
    "chosen with times of operations-odd at hand, those of 54bc5a0d, of chains without own code", 4,
    "a dependent instruction of most arithmetic: CUDA C++ Programming Guide, multiprocessor level");
struct Amounts {
    double slots = 0;     ///< of a thread, for all it holds of a row
    double specials = 0;  ///< likewise
};

/// How a thread goes over what it has of a row.
struct Reading {
    double elements, chunks;
    double lanes;
    DType type;
    double slots_of_a_step;  ///< where no code knows the chain
    bool whole;              ///< chunks are
};

/// Of steps that are done one after the other. `again`: the row was gone over before for every
/// reduction but the last step, and these are known.
Amounts amounts_of(std::span<const RowInstruction> steps, const Reading& reading, bool again) {
    Amounts a;
    a.slots = slots_of_thread + slots_of_chunk * reading.chunks +
              counted(3, "loaded, widened, packed") * reading.elements +
              (reading.whole ? 0 : slots_of_lone_element * reading.elements);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const RowOp op = steps[i].op;
        a.slots += reading.slots_of_a_step;
        if (again && is_reduction(op) && i + 1 < steps.size()) {
            continue;
        }
        const double rounded = reading.type == DType::fp32 ? slots_to_fp32(op) : 0;
        a.slots += (slots_of(op) + rounded) * reading.elements;
        a.specials += specials_of(op) * reading.elements;
        a.slots += takes_matrix(op) ? slots_of_operand * reading.chunks : 0;
        a.slots += op == RowOp::rope ? slots_of_angles : 0;
        if (is_reduction(op)) {
            a.slots += slots_of_reduction + slots_of_exchange * (reading.lanes > 32 ? 2 : 1);
        }
    }
    return a;
}

/// The mean over the times that a row is gone over: once up to each reduction, and once to its end.
Amounts amounts_of_passes(const RowProgram& program, const Reading& reading) {
    const std::span<const RowInstruction> steps = program.steps();
    Amounts sum;
    double passes = 0;
    const auto add = [&](std::size_t count) {
        const Amounts one = amounts_of(steps.first(count), reading, true);
        sum.slots += one.slots;
        sum.specials += one.specials;
        ++passes;
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (is_reduction(steps[i].op)) {
            add(i + 1);
        }
    }
    add(steps.size());
    return {sum.slots / passes, sum.specials / passes};
}

/// What a row waits for behind its own chunks. Where no code knows the chain each step loads its
/// operand; else all come at once, but for the angles of a single chunk, which were asked for, and
/// in the two widest tiles for what is the same for all rows.
void add_operand_waits(const RowProgram& program, const Tile& tile, bool compiled, double rows,
                       Counts& c) {
    double far = 0, near = 0;
    for (const RowInstruction& step : program.steps()) {
        const bool angles = step.op == RowOp::rope;
        const bool vector = takes_vector(step.op);
        far += !compiled && (angles || takes_matrix(step.op)) ? 1 : 0;
        const bool late = angles ? compiled && !has_angles_ahead(program, tile.chunks)
                                 : vector && (!compiled || !holds_vectors(tile));
        near += late ? 1 : 0;
    }
    for (const auto& [times, latency] :
         {std::pair(far, "latency.dram"), std::pair(near, "latency.l2")}) {
        if (times > 0) {
            c.steps.push_back({"operands", times * rows, {}, latency});
        }
    }
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const RowProgram program = program_of(w);
    const RowLayout layout =
        layout_of(program, w.extent(grid_rows), w.extent(grid_width), tile, element_bytes(w));
    const double passes = layout.pieces > 1 ? 1 + static_cast<double>(reductions_of(program)) : 1;
    const bool dealt_out = deals_out_pieces(program);
    const bool compiled = is_compiled(program, w) && (layout.pieces == 1 || dealt_out);
    const bool flat = !knows_rows(program);
    const bool stays = !compiled && !flat;  // its CTAs take row after row
    const int residents = compiled ? residents_of(tile, program)
                          : flat   ? residents_reading_flat
                                   : residents_reading(tile);
    const bool whole = flat || is_whole(program, w);  // of flat ones all chunks but one
    const auto per_chunk = static_cast<double>(16 / element_bytes(w));
    const Reading reading{tile.chunks * per_chunk,
                          static_cast<double>(tile.chunks),
                          static_cast<double>(tile.lanes),
                          w.dtype,
                          compiled ? 0
                          : flat   ? slots_of_step
                                   : slots_of_step_of_rows,
                          whole};
    Amounts each = passes > 1 ? amounts_of_passes(program, reading)
                              : amounts_of(program.steps(), reading, false);
    each.slots += stays && passes == 1 ? slots_of_places : 0;
    const auto rows = static_cast<double>(layout.rows);
    const double turns = static_cast<double>(layout.pieces) * passes;
    const double threads = rows * turns * tile.lanes;
    const double read = w.bytes_read();
    const double written = w.bytes_written();
    Counts c;
    c.launch = "main";
    c.work["byte.dram_read"] = read;
    c.work["byte.dram_write"] = written;
    c.work["byte.l2"] = read * passes + written;
    c.ctas =
        stays ? ctas_reading(layout, tile, std::max(1, device.units)) : held_ctas_of(layout, tile);
    if (compiled && dealt_out && has_rope(program)) {
        // Angles come once for each row that a CTA has a part of.
        const double angles = static_cast<double>(w.extent("d")) * sizeof(float);
        c.work["byte.l2"] += std::max(0.0, static_cast<double>(c.ctas) - rows) * angles;
        // The path of L1 is that of shared memory: each thread reads as many as it has columns.
        c.work["byte.smem_lsu"] =
            read + written +
            threads * 2 * sizeof(float) * static_cast<double>(16 / element_bytes(w));
    }
    if (!whole) {
        // The lanes of a warp stand 16 bytes apart: for each element of a chunk they touch all its
        // lines again. L1 has them then, but it sends every store on.
        const auto times = static_cast<double>(16 / element_bytes(w));
        c.work["byte.smem_lsu"] = times * (read * passes + written);
        c.work["byte.l2"] += (times - 1) * written;
    }
    c.work["flop.fma.fp32"] = w.flops();
    c.work["op.issue"] = threads * each.slots;
    if (each.specials > 0) {
        c.work["op.ex2"] = threads * each.specials;
    }
    if (passes > 1) {
        const double row = static_cast<double>(layout.width * element_bytes(w));
        const double open = row * static_cast<double>(std::max(1, device.units) * residents);
        c.reread = {{.bytes = (passes - 1) * read, .footprint = open, .by_same_unit = true}};
    }
    c.threads = tile.threads;
    c.registers = registers_of(tile, residents);  // the launch bound
    c.smem_bytes = static_cast<std::int64_t>(sizeof(float)) *
                   (64 + static_cast<std::int64_t>(tile.threads / 32 * 2 * longest_row_chain));
    // Code that knows the chain asks for all operands at once. Other code asks for the next piece
    // while it goes over one, or for one matrix after the other.
    c.bytes_in_flight =
        compiled ? read / static_cast<double>(c.ctas) : 16.0 * tile.threads * tile.chunks;
    c.balanced_order = true;
    const double together = tile.threads / tile.lanes;
    const double pieces = compiled ? static_cast<double>(layout.pieces) : 1;
    const double of_cta = std::ceil(rows * pieces / together / static_cast<double>(c.ctas));
    const double turns_of_cta = of_cta * turns / pieces;
    const Work of_turn = c.work * (together / rows / turns);
    if (stays) {
        c.steps.push_back({"first piece", 1, {}, "latency.dram"});
    }
    // What is put together element by element waits for its loads.
    c.steps.push_back({"row", turns_of_cta, of_turn, stays && whole ? "" : "latency.dram"});
    c.steps.back().clocks = stays ? each.slots * dependent_clocks : 0;
    if (has_reductions(program)) {
        // Lanes exchange their sums five or ten times: about as long as L2 takes to answer.
        c.steps.push_back(
            {"reductions", of_cta * static_cast<double>(reductions_of(program)), {}, "latency.l2"});
    }
    add_operand_waits(program, tile, compiled, turns_of_cta, c);
    c.overlap = {{"byte.dram_read", "byte.dram_write", "byte.l2", "byte.smem_lsu", "flop.fma.fp32",
                  "op.issue", "op.ex2"}};
    return one_cold_launch(std::move(c), device, residents);
}

}  // namespace
}  // namespace raceline::kernels::rows_cuda

RACELINE_OPERATION_KERNEL(
    rows_cuda,
    record_of("rows",
              "chains of elementwise steps, norms, softmax and rope in one pass, on any GPU",
              Engine::cuda, tile_list, supports, counts))
