// SPDX-License-Identifier: Apache-2.0
// rows_cuda's work as its code does it; nothing timed.
#include "kernels/rows_cuda/counts.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/rows_cuda/phrases.hpp"
#include "model/constant.hpp"
#include "model/occupancy.hpp"
#include "model/one_pass.hpp"
#include "schedule/steps.hpp"
#include "workload/compiled_chains.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::rows_cuda {
namespace {

double elements_of_chunk(const Workload& w) {
    const std::int64_t elements = 16 / element_bytes(w);
    return static_cast<double>(elements);
}

/// More where results are rounded to fp32: expf scales and brings two parts together, and a
/// quotient is refined.
double slots_to_fp32(RowOp op) {
    switch (op) {
        case RowOp::gelu: return counted(6, "expf") + counted(12, "quotient");
        case RowOp::silu:
        case RowOp::sigmoid: return counted(6, "expf") + counted(8, "quotient");
        case RowOp::exp: return counted(6, "expf");
        case RowOp::tanh: return counted(8, "tanhf");
        default: return 0;
    }
}

/// Instructions of a thread for one element of a step.
double slots_of(RowOp op) {
    switch (op) {
        case RowOp::gelu: return counted(8, "gelu: inner, ex2, sum, reciprocal, product");
        case RowOp::silu:
        case RowOp::sigmoid: return counted(5, "over_one_plus");
        case RowOp::tanh: return counted(12, "series, ex2, reciprocal, a choice");
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
/// Of a reduction: an exchange and its sum, by SASS, for each halving of the lanes; where a row has
/// several warps, five among their lanes and as many again.
constexpr double slots_of_exchange = counted(2, "over_row, by SASS");
constexpr double exchanges_of_warp = counted(5, "halvings of 32 lanes");
double slots_of_exchanges(double lanes) {
    return slots_of_exchange * (lanes > 32 ? 2 * exchanges_of_warp : std::log2(lanes));
}
/// What becomes of its result where no barrier is between.
double slots_of_finish(RowFinish finish) {
    switch (finish) {
        case RowFinish::none: return 0;
        case RowFinish::negated: return counted(2, "by SASS");
        case RowFinish::negative_mean:
        case RowFinish::inverse: return counted(10, "quotient, by SASS");
        case RowFinish::inverse_root: return counted(25, "quotient and root, by SASS");
    }
    return 0;
}
// Beside the steps' elements: round numbers, chosen so that the sums meet the instructions that a
// profiler counted (not times; receipts/h200/2026-11-27-operations-*-2ed4b9a6823e). Of rows that
// came later it counted 0.95 to 1.1 times these, 1.3 times where gelu is rounded to fp32.
constexpr double slots_of_thread = counted(30, "its row and place, parameters, the way out");
constexpr double slots_of_chunk = counted(2, "whether it is there, its load and store");
constexpr double slots_of_operand = counted(12, "a chunk of another matrix: the same, and zeros");
constexpr double slots_of_angles = counted(20, "their place in the head, loads");
constexpr double slots_of_reduction = counted(25, "barrier, what warps left, its finish");
/// Code that reads the steps of a held row counts in 64 bits.
constexpr double slots_of_held_places = counted(35, "step_rows, by SASS");
constexpr double slots_of_phrase =
    counted(14, "step_rows, by SASS: loop, its operation and tensor, ways of the switch");
constexpr double slots_of_passing = counted(2, "whether a warp has any of a chunk, each step");
/// Where rows begin inside a chunk.
constexpr double slots_of_shifted_chunk = counted(12, "whether it is inner, of the last row");
constexpr double slots_of_joined_chunk =
    counted(15, "joined") + counted(20, "bounds of the vector, two loads");
/// Words that a thread takes for each of its row's, where that begins in the middle of one.
constexpr double words_of_shifted_row = counted(1.25, "five for a chunk of four");
/// Where a warp's rows come through shared memory, a thread each (staged_rows, by SASS): of each
/// matrix that comes and goes, and of each chunk of a lane; a chunk of a thread's own row by words,
/// and of what is the same for all; its elements stored as words, or as halves of them. With the
/// steps' a profiler counted 1.09 to 1.16 times the sums
/// (receipts/h200/logs/2026-12-01-rows-narrow.txt).
constexpr double slots_of_coming = counted(12, "its place, the loop");
constexpr double slots_of_going = counted(25, "barriers, its place, the end");
constexpr double slots_of_carried_chunk = counted(9, "address, copy, end of the loop");
constexpr double slots_of_staged_chunk = counted(11, "five words, shifted");
constexpr double slots_of_staged_vector = counted(15, "whether it is whole, address, load");
constexpr double slots_of_stored_words = counted(4, "a store for each word");
constexpr double slots_of_stored_halves = counted(12, "a store for each element, upper halves");
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
};

/// Of steps that are done one after the other. `again`: the row was gone over before for every
/// reduction but the last step, and these are known.
Amounts amounts_of(std::span<const RowInstruction> steps, const Reading& reading, bool again) {
    Amounts a;
    a.slots = slots_of_thread + slots_of_chunk * reading.chunks +
              counted(3, "loaded, widened, packed") * reading.elements;
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
            a.slots += slots_of_exchanges(reading.lanes) +
                       (reading.lanes > 32 ? slots_of_reduction : slots_of_finish(steps[i].finish));
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

/// Which code runs a call. compiled, kept: it knows the chain (held_rows.cuh and raw_rows.cuh,
/// kept_rows.cuh). flat, held, wide, staged: it reads the steps (read_flat.cuh, step_rows.cuh,
/// read_rows.cuh, staged_rows.cuh).
enum class Way { compiled, kept, flat, held, wide, staged };

KeptLayout kept_layout_of(const RowProgram& program, const Workload& w, const Device& device) {
    return kept_layout(
        program, w.extent(grid_rows),
        bytes_of_chunks(w.extent(grid_width), element_bytes(w), is_whole(program, w)), device);
}

Way way_of(const RowProgram& program, const Workload& w, const Tile& tile, const RowLayout& layout,
           const Device& device) {
    if (is_staged(tile)) {
        return Way::staged;
    }
    const bool together = layout.segments > 1 && has_reductions(program);
    if (is_compiled(program, w) && !together) {
        return Way::compiled;
    }
    if (together && compiled_index(program) < compiled_programs.size() &&
        kept_layout_of(program, w, device).cluster > 0) {
        return Way::kept;
    }
    return !knows_rows(program) ? Way::flat : together ? Way::wide : Way::held;
}

int residents_on(Way way, const RowProgram& program, const Workload& w, const Tile& tile) {
    switch (way) {
        case Way::compiled: return residents_of(tile, program);
        case Way::kept: break;  // its layout says how many
        case Way::flat: return residents_reading_flat;
        case Way::wide: return residents_reading(tile);
        case Way::staged: return residents_staged(tile);
        case Way::held: break;
    }
    return residents_stepping(tile, w.dtype,
                              is_whole(program, w) ? Access::whole : Access::shifted);
}

/// Chunks of a thread that its warp goes over, of a row or segment of so many: in the mean.
double chunks_gone_over(const Tile& tile, std::int64_t chunks_of_row) {
    if (!skips_chunks(tile.chunks)) {
        return tile.chunks;
    }
    std::int64_t of_warps = 0;
    const std::int64_t warp = std::min(32, tile.lanes);
    for (std::int32_t c = 0; c < tile.chunks; ++c) {
        const std::int64_t there = std::clamp<std::int64_t>(
            chunks_of_row - static_cast<std::int64_t>(c) * tile.lanes, 0, tile.lanes);
        of_warps += (there + warp - 1) / warp * warp;
    }
    return std::max(1.0, static_cast<double>(of_warps) / static_cast<double>(tile.lanes));
}

/// Of a row that its lanes hold while they read the steps.
Amounts amounts_held(const RowProgram& program, const Workload& w, const Tile& tile,
                     const RowLayout& layout) {
    const bool whole = is_whole(program, w);
    const std::int64_t per_chunk = 16 / element_bytes(w);
    const std::int64_t positions =
        most_positions(layout.width, element_bytes(w), whole) / layout.segments;
    const double chunks = chunks_gone_over(tile, (positions + per_chunk - 1) / per_chunk);
    Amounts each = amounts_of(program.steps(),
                              Reading{chunks * static_cast<double>(per_chunk), chunks,
                                      static_cast<double>(tile.lanes), w.dtype, 0},
                              false);
    each.slots += slots_of_held_places + slots_of_phrase * phrases_of(program).size;
    if (skips_chunks(tile.chunks)) {
        each.slots += slots_of_passing * tile.chunks * program.size;
    }
    if (!whole) {
        const double vectors = steps_before(program, program.size, takes_vector);
        each.slots +=
            chunks * (slots_of_shifted_chunk * (1 + static_cast<double>(reductions_of(program))) +
                      slots_of_joined_chunk * vectors);
    }
    return each;
}

/// Of a row that a thread holds.
Amounts amounts_staged(const RowProgram& program, const Workload& w, const Tile& tile) {
    const std::int64_t per_chunk = 16 / element_bytes(w);
    const std::int64_t width = w.extent(grid_width);
    const auto of_row = static_cast<double>((width + per_chunk - 1) / per_chunk);
    const double chunks = skips_chunks(tile.chunks) ? of_row : tile.chunks;
    Amounts each =
        amounts_of(program.steps(),
                   Reading{chunks * static_cast<double>(per_chunk), chunks, 1, w.dtype, 0}, false);
    const bool by_words = width * element_bytes(w) % 4 == 0;
    const double carried = slots_of_carried_chunk * of_row;
    each.slots +=
        slots_of_held_places + slots_of_phrase * phrases_of(program).size +
        matrices_of(program) * (slots_of_coming + carried + slots_of_staged_chunk * chunks) +
        results_of(program) *
            (slots_of_going + carried +
             (by_words ? slots_of_stored_words : slots_of_stored_halves) * chunks) +
        slots_of_staged_vector * chunks * steps_before(program, program.size, takes_vector);
    return each;
}

/// Of a thread, each time that it goes over what it has of a row.
Amounts amounts_on(Way way, const RowProgram& program, const Workload& w, const Tile& tile,
                   const RowLayout& layout) {
    if (way == Way::held) {
        return amounts_held(program, w, tile, layout);
    }
    if (way == Way::staged) {
        return amounts_staged(program, w, tile);
    }
    const Reading reading{tile.chunks * elements_of_chunk(w), static_cast<double>(tile.chunks),
                          static_cast<double>(tile.lanes), w.dtype,
                          way == Way::compiled ? 0
                          : way == Way::flat   ? slots_of_step
                                               : slots_of_step_of_rows};
    if (way == Way::compiled && recomputes_rows(program, tile)) {
        const std::int64_t per_chunk = 16 / element_bytes(w);
        const double chunks = chunks_gone_over(tile, layout.width / per_chunk);
        const Amounts of_pass = amounts_of_passes(
            program, {chunks * static_cast<double>(per_chunk), chunks, reading.lanes, w.dtype, 0});
        const auto passes = static_cast<double>(reductions_of(program)) + 1;
        return {of_pass.slots * passes, of_pass.specials * passes};
    }
    if (way != Way::wide) {
        return amounts_of(program.steps(), reading, false);
    }
    Amounts each = amounts_of_passes(program, reading);
    each.slots += is_whole(program, w) ? 0 : slots_of_shifted_chunk * tile.chunks;
    return each;
}

/// What a row waits for behind its own chunks. Code that knows the chain asks for all at once, but
/// for the angles of a single chunk, which were asked for, and for what is the same for all rows in
/// the two widest tiles and where elements are computed again. Other code loads an operand in its
/// step; of rows that are held those of other matrices were asked for.
void add_operand_waits(const RowProgram& program, const Tile& tile, Way way, double rows,
                       Counts& c) {
    const bool compiled = way == Way::compiled;
    double far = 0, near = 0;
    for (const RowInstruction& step : program.steps()) {
        const bool angles = step.op == RowOp::rope;
        const bool matrix = takes_matrix(step.op);
        const bool vector = takes_vector(step.op);
        const bool together = way == Way::held || way == Way::staged;
        far += !compiled && (angles || (matrix && !together)) ? 1 : 0;
        const bool late = angles   ? compiled && !has_angles_ahead(program, tile.chunks)
                          : matrix ? way == Way::held
                                   : vector && (!compiled || !holds_vectors(tile) ||
                                                recomputes_rows(program, tile));
        near += late ? 1 : 0;
    }
    for (const auto& [times, latency] :
         {std::pair(far, "latency.dram"), std::pair(near, "latency.l2")}) {
        if (times > 0) {
            c.steps.push_back({"operands", times * rows, {}, latency});
        }
    }
}

/// What passes L1 and L2 beside whole chunks where rows begin inside of one: a sector more at the
/// ends of each row, two chunks joined for one of a vector, and the row's elements in the chunks
/// that it shares stored alone, about as many as a chunk has.
void add_shifted_traffic(const RowProgram& program, const Workload& w, double passes, Counts& c) {
    constexpr double sector = 32, line = 128;
    const auto rows = static_cast<double>(w.extent(grid_rows));
    const double row = static_cast<double>(w.extent(grid_width) * element_bytes(w));
    const double vectors = steps_before(program, program.size, takes_vector);
    const double alone = results_of(program) * elements_of_chunk(w);
    c.work["byte.l2"] += rows * sector * (matrices_of(program) * passes + alone);
    c.work["byte.smem_lsu"] =
        w.bytes_read() * passes + w.bytes_written() + rows * (2 * vectors * row + line * alone);
}

/// Bytes that pass through shared memory where a thread holds a row: as they come and go, and as
/// threads take words of 32 bits, or store elements that have half of one each. Words that lie an
/// even number apart meet in half of the banks.
double staged_bytes_passed(const RowProgram& program, const Workload& w) {
    const std::int64_t row = w.extent(grid_width) * element_bytes(w);
    const bool by_words = row % 4 == 0;
    const double ways = by_words && row / 4 % 2 == 0 ? 2 : 1;
    const auto bytes = static_cast<double>(row);
    const double words =
        ways * matrices_of(program) * bytes * (by_words ? 1 : words_of_shifted_row) +
        ways * results_of(program) * bytes * (by_words ? 1 : 2);
    return w.bytes_read() + w.bytes_written() + static_cast<double>(w.extent(grid_rows)) * words;
}

/// Of rows that are kept in shared memory: each comes from memory once, is gone over there for
/// every reduction, or pair of them, and once more to the end, while the next one comes behind it
/// or other CTAs read theirs.
std::vector<Counts> counts_kept(const RowProgram& program, const Workload& w,
                                const KeptLayout& layout, const Device& device) {
    const auto rows = static_cast<double>(w.extent(grid_rows));
    const bool whole = is_whole(program, w);
    const std::int64_t bytes = bytes_of_chunks(w.extent(grid_width), element_bytes(w), whole);
    const auto row = static_cast<double>(w.extent(grid_width) * element_bytes(w));
    const double read = row * matrices_of(program), written = row * results_of(program);
    const double chunks = std::ceil(
        static_cast<double>(chunks_of_section(bytes / 16, layout.cluster)) / layout.threads);
    const Tile all{layout.threads, layout.threads, 1};
    const Reading reading{chunks * elements_of_chunk(w), chunks, static_cast<double>(all.lanes),
                          w.dtype, 0};
    Amounts of_pass = amounts_of_passes(program, reading);
    const auto reductions = static_cast<double>(reductions_of(program));
    const double passes = reductions + 1 - (pair_of(program).at > 0 ? 1 : 0);
    const double vectors = steps_before(program, program.size, takes_vector);
    // Two chunks of a vector are joined for one of a row that begins inside of one.
    const double loads = whole ? vectors : 2 * vectors;
    if (!whole) {
        of_pass.slots +=
            chunks * (slots_of_shifted_chunk + slots_of_joined_chunk * vectors / passes);
    }
    Counts c;
    c.launch = "main";
    c.cluster = layout.cluster;
    c.ctas = w.extent(grid_rows) * layout.cluster;
    if (layout.stays) {
        c.ctas =
            std::min(c.ctas, slots(std::max(1, device.units), layout.residents, layout.cluster));
    }
    const bool takes_several = w.extent(grid_rows) * layout.cluster > least_handed_out * c.ctas;
    c.threads = layout.threads;
    c.registers = registers_of(all, kept_threads_of_sm / layout.threads);
    c.smem_bytes = kept_bytes(bytes, layout.cluster, matrices_of(program));
    c.bytes_in_flight = read / layout.cluster;
    c.balanced_order = true;
    Work of_row;
    of_row["byte.dram_read"] = read;
    of_row["byte.dram_write"] = written;
    of_row["byte.l2"] = read + written + row * loads;
    // Copied there, read in each pass; results and what is the same for all rows take the same way.
    of_row["byte.smem_lsu"] = read * (1 + passes) + written + row * loads;
    of_row["op.issue"] = layout.cluster * layout.threads * of_pass.slots * passes;
    of_row["op.ex2"] = layout.cluster * layout.threads * of_pass.specials * passes;
    const double of_cta = std::ceil(rows * layout.cluster / static_cast<double>(c.ctas));
    c.steps.push_back({"first row", 1, {}, "latency.dram"});
    c.steps.push_back({"row", of_cta, of_row * (1.0 / layout.cluster), ""});
    // Lanes exchange their sums ten times: about as long as L2 takes to answer; so does a cluster.
    c.steps.push_back(
        {"reductions", of_cta * reductions * (layout.cluster > 1 ? 2 : 1), {}, "latency.l2"});
    c.work = of_row * rows;
    c.work["flop.fma.fp32"] = w.flops();
    c.overlap = {{"byte.dram_read", "byte.dram_write", "byte.l2", "byte.smem_lsu", "flop.fma.fp32",
                  "op.issue", "op.ex2"}};
    std::vector<Counts> launches = one_cold_launch(std::move(c), device, layout.residents);
    if (layout.handed_out && takes_several) {
        launches.insert(launches.begin(), schedule::clearing());
    }
    return launches;
}

}  // namespace

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const RowProgram program = program_of(w);
    const RowLayout layout =
        layout_of(program, w.extent(grid_rows), w.extent(grid_width), tile, element_bytes(w));
    const double passes = layout.segments > 1 ? 1 + static_cast<double>(reductions_of(program)) : 1;
    const Way way = way_of(program, w, tile, layout, device);
    if (way == Way::kept) {
        return counts_kept(program, w, kept_layout_of(program, w, device), device);
    }
    const bool compiled = way == Way::compiled;
    const bool stays = way == Way::wide;  // its CTAs take row after row
    const int residents = residents_on(way, program, w, tile);
    const Amounts each = amounts_on(way, program, w, tile, layout);
    const auto rows = static_cast<double>(layout.rows);
    const double turns = static_cast<double>(layout.segments) * passes;
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
    if (compiled && deals_out_segments(program) && has_rope(program)) {
        // Angles come once for each row that a CTA has a part of.
        const double angles = static_cast<double>(w.extent("d")) * sizeof(float);
        c.work["byte.l2"] += std::max(0.0, static_cast<double>(c.ctas) - rows) * angles;
        // The path of L1 is that of shared memory: each thread reads as many as it has columns.
        c.work["byte.smem_lsu"] =
            read + written + threads * 2 * sizeof(float) * elements_of_chunk(w);
    }
    if (way == Way::staged) {
        c.work["byte.smem_lsu"] = staged_bytes_passed(program, w);
    } else if (way != Way::flat && !is_whole(program, w)) {
        add_shifted_traffic(program, w, passes, c);
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
    constexpr std::int64_t statistics_of_warp = 2 * longest_row_chain;
    c.smem_bytes = static_cast<std::int64_t>(sizeof(float)) *
                   (64 + (stays ? tile.threads / 32 * statistics_of_warp : 0));
    if (way == Way::staged) {
        c.smem_bytes =
            tile.threads / 32 * staged_bytes(layout.width, element_bytes(w), matrices_of(program));
    }
    // Code of rows that are held asks for all operands at once. Other code asks for the next
    // segment while it goes over one, or for one matrix after the other.
    c.bytes_in_flight = compiled || way == Way::held || way == Way::staged
                            ? read / static_cast<double>(c.ctas)
                            : 16.0 * tile.threads * tile.chunks;
    c.balanced_order = true;
    const std::int32_t rows_of_cta = tile.threads / tile.lanes;
    const double together = rows_of_cta;
    const double segments = stays ? 1 : static_cast<double>(layout.segments);
    const double of_cta = std::ceil(rows * segments / together / static_cast<double>(c.ctas));
    const double turns_of_cta = of_cta * turns / segments;
    const Work of_turn = c.work * (together / rows / turns);
    if (stays) {
        c.steps.push_back({"first segment", 1, {}, "latency.dram"});
    }
    c.steps.push_back({"row", turns_of_cta, of_turn, stays ? "" : "latency.dram"});
    c.steps.back().clocks = stays ? each.slots * dependent_clocks : 0;
    if (has_reductions(program)) {
        // Lanes exchange their sums five or ten times: about as long as L2 takes to answer.
        c.steps.push_back(
            {"reductions", of_cta * static_cast<double>(reductions_of(program)), {}, "latency.l2"});
    }
    add_operand_waits(program, tile, way, turns_of_cta, c);
    c.overlap = {{"byte.dram_read", "byte.dram_write", "byte.l2", "byte.smem_lsu", "flop.fma.fp32",
                  "op.issue", "op.ex2"}};
    return one_cold_launch(std::move(c), device, residents);
}

}  // namespace raceline::kernels::rows_cuda
