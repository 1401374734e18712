// SPDX-License-Identifier: Apache-2.0
// The correctness gate: float64 answer, reference that rounds like the kernel, bound, verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/verdict.hpp"
#include "workload/inputs.hpp"
#include "workload/oracle.hpp"
#include "workload/precision.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// Rows to check: all if few, else a seeded sample that always holds the first, the last and the
/// rows around multiples of 16 … 256, a row of every head, of every sequence and of every 64 rows
/// (work is cut into tiles of at least as many). One entry is (sequence, query row, query head).
struct Row {
    std::int64_t sequence, row, head;
};
/// By sequence, head and row: rows that share a KV head stand together.
bool before(const Row& a, const Row& b);
std::vector<Row> rows_to_check(const Workload& workload, std::uint64_t seed,
                               std::int64_t at_most = 512);

/// The sample alone, at most `at_most` rows of it (all rows if they are no more).
std::vector<Row> sample_rows(const Workload& workload, std::uint64_t seed, std::int64_t at_most);

/// Every byte of an output before a launch, LSE included: NaN in every storage type, so that an
/// element which no launch wrote is found.
inline constexpr unsigned char output_poison = 0xff;

/// Rows that see more than one key: with one or none there is nothing to begin elsewhere with.
std::int64_t scattering_rows(const Workload& workload, std::span<const Row> rows);
/// How many roundings of these rows the gate's bound is taken from: what one row gives scatters, so
/// where few rows see keys each is rounded several times. 1 for calls of many rows.
std::int64_t roundings_of(const Workload& workload, std::span<const Row> rows);
/// The same of a call in which `scattering` rows see more than one key.
std::int64_t roundings_for(const Workload& workload, std::int64_t scattering);

/// What the gate holds outputs against: the float64 answer of one draw of inputs, and references
/// rounded as each precision asks. Each is worked out when it is first needed and kept, so that
/// kernels judged on the same draw share it; the verdicts are those of fresh answers. At most 512
/// rows an answer. Workload and inputs must outlive it; not for several threads.
class GateAnswers {
public:
    /// `draw` and `seed` are those of the inputs. Of Draw::non_finite only the set of outputs that
    /// are finite is judged.
    GateAnswers(const Workload& workload, const Inputs& inputs, std::uint64_t seed,
                Draw draw = Draw::plain);
    /// Of these rows and no others.
    GateAnswers(const Workload& workload, const Inputs& inputs, Draw draw, std::vector<Row> rows);

    [[nodiscard]] const Workload& workload() const { return workload_; }
    [[nodiscard]] const Inputs& inputs() const { return inputs_; }
    [[nodiscard]] Draw draw() const { return draw_; }
    [[nodiscard]] std::span<const Row> rows() const { return rows_; }
    /// In the order of rows().
    const std::vector<OracleRow>& exact();
    /// As many answers as roundings_of says.
    const std::vector<std::vector<OracleRow>>& rounded(const Precision& precision);
    /// Their errors, of which the bound is made.
    const Reference& reference(const Precision& precision);

private:
    [[nodiscard]] std::vector<std::vector<OracleRow>> answers(const Precision* precision,
                                                              std::int64_t count) const;

    struct Rounded {
        Precision precision;
        std::vector<std::vector<OracleRow>> rows;
        std::optional<Reference> reference;
    };
    Rounded& rounded_as(const Precision& precision);

    const Workload& workload_;
    const Inputs& inputs_;
    Draw draw_;
    std::vector<Row> rows_;
    std::vector<OracleRow> exact_;
    std::vector<Rounded> rounded_;
};

/// Judges what a kernel left in `out` and `lse` (packed as inputs.hpp lays them out; lse may be
/// empty). Every element must have been written: poison left anywhere fails, on unchecked rows too.
Correctness judge(GateAnswers& answers, const Precision& precision, std::span<const std::byte> out,
                  std::span<const float> lse);
/// The same with answers that are needed once.
Correctness judge(const Workload& workload, const Inputs& inputs, const Precision& precision,
                  std::span<const std::byte> out, std::span<const float> lse, std::uint64_t seed,
                  Draw draw = Draw::plain);

}  // namespace raceline
