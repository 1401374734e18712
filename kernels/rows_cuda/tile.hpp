// SPDX-License-Identifier: Apache-2.0
// The tuning space of rows_cuda, and how a matrix is dealt out to CTAs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "registry/cuda_limits.hpp"
#include "registry/kernel.hpp"
#include "workload/row_program.hpp"

namespace raceline::kernels::rows_cuda {

struct Tile {
    std::int32_t threads;  ///< of a CTA
    std::int32_t lanes;    ///< threads that share a row: part of a warp, a warp, or the CTA
    std::int32_t chunks;   ///< of 16 bytes that a thread holds of its row

    static constexpr std::array<TileField, 3> fields{"threads", "lanes", "chunks"};
};
// The narrowest rows by threads, narrow ones by half warps and warps, wide ones by CTAs; a row that
// is wider than all lanes of the last tile that has code for its chain hold is gone over several
// times, by one of them. Of a matrix whose elements do not know their row, `flat` ones alone. Of
// tiles that the model holds to be equal the first is taken, which is that of fewer chunks: so
// measured of short calls (receipts/h200/logs/2026-11-28-rows-tiles.tsv).
inline constexpr std::array tile_list{
    Tile{256, 32, 1},    Tile{256, 256, 1}, Tile{256, 16, 1},    Tile{256, 8, 1},
    Tile{256, 4, 2},     Tile{256, 8, 2},   Tile{256, 32, 2},    Tile{256, 256, 2},
    Tile{128, 128, 2},   Tile{512, 512, 2}, Tile{1024, 1024, 2}, Tile{256, 32, 4},
    Tile{128, 128, 4},   Tile{256, 256, 4}, Tile{512, 512, 4},   Tile{1024, 1024, 4},
    Tile{1024, 1024, 8}, Tile{128, 1, 2},   Tile{128, 1, 4},     Tile{128, 1, 8}};
inline constexpr int flat_threads = 256;
constexpr bool is_flat(const Tile& tile) {
    return tile.threads == flat_threads && tile.lanes == flat_threads;
}
/// Of the first `end` steps of a program, how many are such.
template <class Is>
constexpr int steps_before(const RowProgram& program, int end, Is is) {
    return static_cast<int>(
        std::ranges::count_if(program.steps().first(static_cast<std::size_t>(end)),
                              [&](const RowInstruction& step) { return is(step.op); }));
}
constexpr int reductions_before(const RowProgram& program, int end) {
    return steps_before(program, end, is_reduction);
}

/// Whether rows are cut among CTAs: elements know their row, but not each other.
constexpr bool deals_out_segments(const RowProgram& program) {
    return knows_rows(program) && !has_reductions(program);
}

/// How the chunks of rows are reached. whole: each has 16 bytes of one row. shifted: tensors begin
/// at multiples of 16 bytes, rows anywhere, so that the first and the last chunk of a row have
/// elements of others. lone: tensors begin anywhere, and elements are loaded one by one.
enum class Access { whole, shifted, lone };

/// Whether a warp asks of each chunk that it holds whether its lanes have any of it.
constexpr bool skips_chunks(int chunks) {
    return chunks > 2;
}

/// The one tile that goes over a row several times, if none holds it: in it a thread has registers
/// for any step and for what it reads ahead.
constexpr bool reads_wide_rows(const Tile& tile) {
    return tile.threads == 512 && tile.chunks == 2;
}
inline constexpr int wide_rows_index =
    static_cast<int>(std::ranges::find_if(tile_list, reads_wide_rows) - tile_list.begin());
/// Elements of the chunks that a row has a part of, where it begins at the worst place.
constexpr std::int64_t most_positions(std::int64_t width, std::int64_t element_bytes, bool whole) {
    return width + (whole ? 0 : 16 / element_bytes - 1);
}
/// Bytes of these chunks.
constexpr std::int64_t bytes_of_chunks(std::int64_t width, std::int64_t element_bytes, bool whole) {
    const std::int64_t bytes = most_positions(width, element_bytes, whole) * element_bytes;
    return (bytes + 15) / 16 * 16;
}
/// Rows kept in shared memory (kept_rows.cuh): the bytes of a CTA beside its section of the row,
/// the most CTAs that keep one together, and the CTAs of an SM that registers have room for.
inline constexpr int most_kept_cluster = 16;
/// Bytes of a row that the registers of a CTA hold while an SM has several.
inline constexpr std::int64_t most_held_bytes = std::int64_t{16} * 512 * 4;
/// What a CTA sends to all of its cluster.
struct alignas(8) KeptSum {
    float sum;
    std::uint32_t number;  ///< of the row that the cluster takes next, if its first CTA sends it
};
inline constexpr std::int64_t kept_beside =
    std::int64_t{4} * 64 + 2 * (most_kept_cluster * std::int64_t{sizeof(KeptSum)} + 8);
/// Threads of an SM, which have as many registers each: two CTAs of the tile that goes over wide
/// rows, or four of half as many.
inline constexpr int kept_threads_of_sm = 1024;
inline constexpr std::array kept_threads{256, 512};
/// Rows are handed out where a cluster has more than so many in the mean: a counter is cleared
/// before. Assumed; calls of fewer than 512 rows were not measured.
inline constexpr int least_handed_out = 2;
/// Chunks of a CTA's section of a row, of which the last may have fewer.
constexpr int chunks_of_section(std::int64_t chunks_of_row, int cluster) {
    return static_cast<int>((chunks_of_row + cluster - 1) / cluster);
}
/// `row_bytes`: of each of the matrices.
constexpr std::int64_t kept_bytes(std::int64_t row_bytes, int cluster, int matrices) {
    return std::int64_t{16} * matrices * chunks_of_section(row_bytes / 16, cluster) + kept_beside;
}

/// Matrices that a program reads, and those that it writes.
constexpr int matrices_of(const RowProgram& program) {
    return 1 + steps_before(program, program.size, takes_matrix);
}
constexpr int results_of(const RowProgram& program) {
    return 1 + steps_before(program, program.size, [](RowOp op) { return op == RowOp::store; });
}
/// The tensor of the matrix that is read as such a one: the first has none before it.
constexpr int tensor_of(const RowProgram& program, int matrix) {
    for (const RowInstruction& its : program.steps()) {
        matrix -= takes_matrix(its.op) ? 1 : 0;
        if (matrix == 0 && takes_matrix(its.op)) {
            return its.tensor;
        }
    }
    return 0;
}
/// Whether a program takes one matrix alone, reduces it, and stores it once.
constexpr bool reduces_one_matrix(const RowProgram& program) {
    return has_reductions(program) && !has_rope(program) && matrices_of(program) == 1 &&
           results_of(program) == 1;
}
/// The number of the first reduction; of the end, where there is none.
constexpr int first_reduction(const RowProgram& program) {
    const auto steps = program.steps();
    return static_cast<int>(
        std::ranges::find_if(steps, [](const auto& its) { return is_reduction(its.op); }) -
        steps.begin());
}
constexpr int last_reduction(const RowProgram& program) {
    int last = 0;
    for (int i = 0; i < program.size; ++i) {
        last = is_reduction(program.list[static_cast<std::size_t>(i)].op) ? i : last;
    }
    return last;
}
/// Whether rows can be kept in shared memory, those of every matrix that is read: what is the same
/// for all rows is loaded behind the last reduction.
constexpr bool can_keep_rows(const RowProgram& program) {
    return has_reductions(program) && !has_rope(program) &&
           steps_before(program, last_reduction(program), takes_vector) == 0;
}

/// The first two reductions, where the second one's elements are the first's less its result: of a
/// softmax their exponentials, of a variance their squares. Both are taken in one pass. `at` is the
/// number of the second; 0: there is no such pair.
struct ReductionPair {
    int at = 0;
    bool of_softmax = false;
};
constexpr ReductionPair pair_of(const RowProgram& program) {
    const int first = first_reduction(program);
    const auto has = [&](std::initializer_list<RowOp> ops) {
        return program.size - first >= static_cast<int>(ops.size()) &&
               std::equal(ops.begin(), ops.end(), program.list.begin() + first,
                          [](RowOp op, const RowInstruction& its) { return op == its.op; });
    };
    using enum RowOp;
    if (has({reduce_max, add_statistic, exp, reduce_sum})) {
        return {first + 3, true};
    }
    return {has({reduce_sum, add_statistic, reduce_squares}) ? first + 2 : 0, false};
}

/// How such rows are kept.
struct KeptLayout {
    int cluster = 0;          ///< CTAs that keep a row; 0: they cannot
    int residents = 1;        ///< CTAs of an SM
    int threads = 512;        ///< of a CTA
    bool stays = true;        ///< it takes row after row
    bool handed_out = false;  ///< namely the next that none has taken
};
/// Registers hold rows of up to 32 KB: an RMS norm of such rows in fp32 takes 258 us there, and 265
/// kept; layer norms and softmaxes differ by up to 7 %
/// (receipts/h200/logs/2026-11-30-rows-recomputed.txt). Of wider ones
/// a small CTA keeps each, where an SM has room for four and all SMs have as many. Such CTAs
/// begin in the order of the rows, so that what all SMs read at a time lies close together: where
/// four stay and take row after row, rows of 32 KB of an RMS norm take 285 us in the place of 267
/// (receipts/h200/logs/2026-11-30-rows-small.txt). Else a larger one, also for each row, where an
/// SM has room for two: 208 us of 221 for rows of 100 KB. Wider rows have clusters, which take the
/// next row when they are through with one: clusters that end with their row were 3 to 22 % slower
/// (receipts/h200/logs/2026-11-30-rows-segments.txt). Of 130 KB to 3 MB all sizes of clusters and
/// both of CTAs were measured (receipts/h200/logs/2026-11-30-rows-sums-sent.txt.gz): the smallest
/// of 4, 8 and 16 small CTAs of which an SM has room for four, then 16 of which it has for three,
/// two or one. These choices, made with the times at hand, are 0 to 10 % slower than the best of
/// all. Layer norms of 1 MB in fp32 are 18 % slower: 184 us, and 156 by ten larger CTAs.
/// Where several matrices are read, their rows count together.
/// `row_bytes`: of a row's chunks, of one matrix.
inline KeptLayout kept_layout(const RowProgram& program, std::int64_t rows, std::int64_t row_bytes,
                              const Device& device) {
    const int matrices = matrices_of(program);
    if (!can_keep_rows(program) || row_bytes * matrices <= most_held_bytes) {
        return {};
    }
    const int has = device.compute_capability;
    const int most = has < 90 ? 1 : has < 120 ? most_kept_cluster : 8;
    constexpr std::int64_t reserved = 1024;  // of each CTA by the driver
    const auto serves = [&](int cluster, int residents) {
        const std::int64_t bytes = (kept_bytes(row_bytes, cluster, matrices) + 127) / 128 * 128;
        return cluster <= most && bytes <= device.smem_bytes_per_cta &&
               (residents == 1 || residents * (bytes + reserved) <= device.smem_bytes_per_unit);
    };
    const auto [few, many] = kept_threads;
    const std::int64_t fill = std::int64_t{kept_threads_of_sm} / few * std::max(1, device.units);
    if (rows >= fill && serves(1, kept_threads_of_sm / few)) {
        return {1, kept_threads_of_sm / few, few, false};
    }
    const int two = kept_threads_of_sm / many;
    if (serves(1, two)) {
        return {1, two, many, false, false};
    }
    const auto of_clusters = [&](int cluster, int residents, int threads) {
        return KeptLayout{cluster, residents, threads, true, true};
    };
    const int four = kept_threads_of_sm / few;
    for (const int cluster : {4, 8, most_kept_cluster}) {
        if (serves(cluster, four)) {
            return of_clusters(cluster, four, few);
        }
    }
    if (most == 1) {
        return serves(1, 1) ? KeptLayout{1, 1, many, true, false} : KeptLayout{};
    }
    return serves(most, four - 1) ? of_clusters(most, four - 1, few)
           : serves(most, two)    ? of_clusters(most, two, many)
           : serves(most, 1)      ? of_clusters(most, 1, many)
                                  : KeptLayout{};
}
/// Beside the tile that goes over wide rows, the one that takes lone elements of narrow ones.
constexpr bool takes_lone_rows(const Tile& tile) {
    return tile.lanes == 32 && tile.chunks == 2;
}
inline constexpr int lone_rows_index =
    static_cast<int>(std::ranges::find_if(tile_list, takes_lone_rows) - tile_list.begin());
/// The one tile that holds the most, where that needs few enough registers.
constexpr bool is_longest(const Tile& tile) {
    return tile.chunks == 8;
}
/// Whether a thread has registers for the steps of any chain. The others hold rows of known ones.
constexpr bool reads_any_chain(const Tile& tile) {
    return tile.threads * tile.chunks < 4096;
}
/// Rows so narrow that half a warp would be idle in part.
constexpr bool is_narrow(const Tile& tile) {
    return tile.lanes < 16;
}
/// Rows that a thread holds, which come and go through shared memory (staged_rows.cuh).
constexpr bool is_staged(const Tile& tile) {
    return tile.lanes == 1;
}
/// Bytes of shared memory for a warp's rows of one matrix, and for those of all that are read: the
/// last row's chunks reach past its end.
constexpr std::int64_t staged_bytes_of_warp(std::int64_t width, std::int64_t element_bytes) {
    return 32 * width * element_bytes;
}
constexpr std::int64_t staged_bytes(std::int64_t width, std::int64_t element_bytes,
                                    std::int64_t matrices) {
    return matrices * staged_bytes_of_warp(width, element_bytes) + 32;
}
/// Whether a tile has code that reads the steps of rows which lie so. Code of shifted rows is long
/// to compile: what CTAs of 128 threads hold, or few lanes of two chunks, others do too.
constexpr bool steps_through_rows(const Tile& tile, Access access) {
    if (is_staged(tile)) {
        return false;
    }
    if (access == Access::lone) {
        return reads_wide_rows(tile) || takes_lone_rows(tile);
    }
    const bool of_whole_rows = tile.threads == 128 || (is_narrow(tile) && tile.chunks > 1);
    return reads_any_chain(tile) && (access == Access::whole || !of_whole_rows);
}
/// Whether a thread has registers for rows that are the same for all while its own is reduced.
constexpr bool holds_vectors(const Tile& tile) {
    return reads_any_chain(tile);
}

/// Whether code that knows a chain is compiled for a tile. Where elements do not know their row a
/// thread takes one chunk and ends: with more it was up to 8 % slower, at no size faster
/// (receipts/h200/logs/2026-11-28-rows-tiles.tsv). Where they know no other one of it, as with a
/// bias, it takes at most two: with four `bias+gelu` was 5 % slower and `gain+bias` 1 %, and only a
/// rotation, which has angles to load, is fastest with four
/// (receipts/h200/logs/2026-11-30-rows-segments.txt). Eight chunks fit in a thread's registers
/// where they are fp32 as they were loaded, and one matrix is all that is loaded.
constexpr bool has_code(const RowProgram& program, DType type, const Tile& tile) {
    if (is_staged(tile)) {
        return false;
    }
    if (is_longest(tile)) {
        return type == DType::fp32 && has_reductions(program) && !has_rope(program) &&
               steps_before(program, program.size, takes_matrix) == 0;
    }
    if (!knows_rows(program)) {
        return is_flat(tile) && tile.chunks == 1;
    }
    const bool few = tile.chunks <= 2 || has_rope(program);
    return has_reductions(program) || (!is_narrow(tile) && few);
}

/// Whether a thread needs no more registers for a row than for what it loads of it and of one row
/// that is the same for all.
constexpr bool is_light(const RowProgram& program) {
    return has_reductions(program) && !has_rope(program) &&
           steps_before(program, program.size, takes_matrix) == 0 &&
           steps_before(program, program.size, takes_vector) <= 1;
}
/// Whether the elements are computed again behind reduction `i`, from the row as it was loaded,
/// which takes half the registers of their fp32: where little was done to them before.
constexpr bool is_recomputed(const RowProgram& program, DType type, int i) {
    const auto is_little = [](RowOp op) { return is_reduction(op) || op == RowOp::add_statistic; };
    return type != DType::fp32 && steps_before(program, program.size, takes_vector) <= 1 &&
           is_reduction(program.list[static_cast<std::size_t>(i)].op) &&
           steps_before(program, i, is_little) == i;
}
/// Whether a thread computes the elements again for each reduction and for the result, chunk by
/// chunk, from the row as it was loaded, and loads what is the same for all rows where it is needed
/// (raw_rows.cuh): of chains that reduce one matrix more than once, which hold it in fp32 for
/// longest. Layer norms of 32 KB rows in bf16 take 262 us in the place of 439, softmaxes 259 of 282
/// (receipts/h200/logs/2026-11-30-rows-recomputed.txt). Threads of fewer chunks have registers for
/// both, and in short calls an operand that is asked for late is waited for.
constexpr bool recomputes_rows(const RowProgram& program, const Tile& tile) {
    return tile.chunks == 4 && tile.lanes >= 128 && reduces_one_matrix(program) &&
           reductions_before(program, program.size) > 1;
}
constexpr int recomputed_reductions(const RowProgram& program, DType type) {
    int count = 0;
    for (int i = 0; i < program.size; ++i) {
        count += is_recomputed(program, type, i) ? 1 : 0;
    }
    return count;
}

/// Whether a thread of so many chunks asks for its angles with its row. One chunk needs no more at
/// a time than it turns, and where a row is reduced first an SM's threads have no registers for
/// them.
constexpr bool has_angles_ahead(const RowProgram& program, int chunks) {
    return chunks > 1 || deals_out_segments(program);
}

/// Threads that hold so many chunks each, of an SM: what holds their registers down.
struct ThreadsOfSm {
    int one, two, four, eight = 1024;

    [[nodiscard]] constexpr int residents(const Tile& tile) const {
        const int threads = tile.chunks == 1   ? one
                            : tile.chunks == 2 ? two
                            : tile.chunks == 4 ? four
                                               : eight;
        return std::max(1, threads / tile.threads);
    }
};
constexpr int residents_of(const Tile& tile, const RowProgram& program) {
    if (!knows_rows(program)) {
        return ThreadsOfSm{2048, 1280, 768}.residents(tile);
    }
    if (recomputes_rows(program, tile)) {
        return ThreadsOfSm{1536, 1536, 1536}.residents(tile);
    }
    if (is_light(program)) {
        return ThreadsOfSm{1536, 1536, 1280}.residents(tile);
    }
    const bool holds_angles = has_rope(program) && has_angles_ahead(program, 1);
    return ThreadsOfSm{holds_angles ? 1280 : 1536, 1280, 768}.residents(tile);
}
/// Where no code knows the chain every step's registers count: of rows that their lanes hold,
constexpr int residents_stepping(const Tile& tile, DType type, Access access) {
    if (access == Access::lone) {
        return ThreadsOfSm{768, 512, 384}.residents(tile);
    }
    // A chunk has half as many elements in fp32, and two chunks are joined for one of a vector.
    return access == Access::whole || type == DType::fp32
               ? ThreadsOfSm{1536, 1280, 1024}.residents(tile)
               : ThreadsOfSm{1280, 1024, 768}.residents(tile);
}
/// and of wider ones, a segment of which is read ahead.
constexpr int residents_reading(const Tile& tile) {
    return ThreadsOfSm{768, 640, 384}.residents(tile);
}
/// The same of rows that a thread holds.
constexpr int residents_staged(const Tile& tile) {
    return ThreadsOfSm{1024, 1024, 768, 512}.residents(tile);
}
/// The same of chains whose elements do not know their row.
inline constexpr int residents_reading_flat = 6;
/// Registers of a thread where an SM has room for so many CTAs.
constexpr int registers_of(const Tile& tile, int residents) {
    return 65536 / (residents * tile.threads) / 8 * 8;
}

/// Elements of a row that its lanes hold at a time.
constexpr std::int64_t held_by(const Tile& tile, std::int64_t element_bytes) {
    return static_cast<std::int64_t>(tile.lanes) * tile.chunks * 16 / element_bytes;
}

/// Whether every chunk is whole: of each row, or of the matrix where elements do not know their
/// row.
constexpr bool has_whole_chunks(const RowProgram& program, std::int64_t rows, std::int64_t width,
                                std::int64_t element_bytes) {
    return (knows_rows(program) ? width : rows * width) * element_bytes % 16 == 0;
}

/// Segments of a row whose lanes hold so many elements at a time. A row of no more is one, wherever
/// it begins: its end goes into the room before its begin.
constexpr std::int64_t segments_of(std::int64_t width, std::int64_t element_bytes, bool whole,
                                   std::int64_t held) {
    return width <= held ? 1 : (most_positions(width, element_bytes, whole) + held - 1) / held;
}

/// Rows as the kernel sees them: of a program whose elements do not need to know their row the
/// matrix is one long row, cut to what the lanes hold.
struct RowLayout {
    std::int64_t rows, width;  ///< the last row may be shorter
    std::int64_t elements;     ///< of the matrix
    std::int64_t segments;     ///< of a row, each held at a time
};

inline RowLayout layout_of(const RowProgram& program, std::int64_t rows, std::int64_t width,
                           const Tile& tile, std::int64_t element_bytes) {
    const std::int64_t held = held_by(tile, element_bytes);
    const bool whole = has_whole_chunks(program, rows, width, element_bytes);
    RowLayout layout{rows, width, rows * width, segments_of(width, element_bytes, whole, held)};
    if (!knows_rows(program)) {
        layout.width = held;
        layout.rows = (layout.elements + held - 1) / held;
        layout.segments = 1;
    }
    return layout;
}

inline std::int64_t ctas_of(const RowLayout& layout, const Tile& tile) {
    const std::int64_t together = tile.threads / tile.lanes;
    return (layout.rows + together - 1) / together;
}
/// Segments of rows one after the other, where there are several. Chains whose elements know each
/// other are held in rows of one segment alone.
inline std::int64_t held_ctas_of(const RowLayout& layout, const Tile& tile) {
    const std::int64_t together = tile.threads / tile.lanes;
    return (layout.rows * layout.segments + together - 1) / together;
}
/// Where rows are wider than their lanes hold CTAs stay and take row after row.
inline std::int64_t ctas_reading(const RowLayout& layout, const Tile& tile, int units) {
    return std::min(ctas_of(layout, tile),
                    static_cast<std::int64_t>(units) * residents_reading(tile));
}

}  // namespace raceline::kernels::rows_cuda
