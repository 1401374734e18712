// SPDX-License-Identifier: Apache-2.0
// The correctness gate: float64 answer, reference that rounds like the kernel, bound, verdict.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/json.hpp"
#include "workload/inputs.hpp"
#include "workload/oracle.hpp"
#include "workload/precision.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// In the receipt's names.
struct Correctness {
    bool passed = false;
    double relative_rms = 0;  ///< ‖out − ref‖ / ‖ref‖ over the checked rows
    double worst = 0;         ///< largest element error / RMS of the reference output
    double bound = 0;         ///< on relative_rms
    double bound_worst = 0;   ///< on worst
    double lse_worst = 0;     ///< largest LSE error, absolute, natural log; 0 if not asked for
    std::int64_t cases = 0;   ///< rows checked
    std::string why;          ///< empty if passed, else the first reason in a sentence
};
Json correctness_to_json(const Correctness& correctness);

/// Rows to check: all if few, else a seeded sample that always holds the first, the last and the
/// rows around multiples of 16 … 256. One entry is (sequence, query row, query head).
struct Row {
    std::int64_t sequence, row, head;
};
std::vector<Row> rows_to_check(const Workload& workload, std::uint64_t seed,
                               std::int64_t at_most = 512);

/// Every byte of an output before a launch, LSE included: NaN in every storage type, so that an
/// element which no launch wrote is found.
inline constexpr unsigned char output_poison = 0xff;

/// How many roundings of these rows the gate's bound is taken from: what one row gives scatters, so
/// where few rows see keys each is rounded several times. 1 for calls of many rows.
std::int64_t roundings_of(const Workload& workload, std::span<const Row> rows);

/// What the gate holds outputs against: the float64 answer of one draw of inputs, and references
/// rounded as each precision asks. Each is worked out when it is first needed and kept, so that
/// kernels judged on the same draw share it; the verdicts are those of fresh answers. At most 512
/// rows an answer. Workload and inputs must outlive it; not for several threads.
class GateAnswers {
public:
    GateAnswers(const Workload& workload, const Inputs& inputs, std::uint64_t seed);

    [[nodiscard]] const Workload& workload() const { return workload_; }
    [[nodiscard]] const Inputs& inputs() const { return inputs_; }
    [[nodiscard]] std::span<const Row> rows() const { return rows_; }
    /// In the order of rows().
    const std::vector<OracleRow>& exact();
    /// As many answers as roundings_of says.
    const std::vector<std::vector<OracleRow>>& rounded(const Precision& precision);

private:
    [[nodiscard]] std::vector<std::vector<OracleRow>> answers(const Precision* precision,
                                                              std::int64_t count) const;

    const Workload& workload_;
    const Inputs& inputs_;
    std::vector<Row> rows_;
    std::vector<OracleRow> exact_;
    std::vector<std::pair<Precision, std::vector<std::vector<OracleRow>>>> rounded_;
};

/// Judges what a kernel left in `out` and `lse` (packed as inputs.hpp lays them out; lse may be
/// empty). Every element must have been written: poison left anywhere fails, on unchecked rows too.
Correctness judge(GateAnswers& answers, const Precision& precision, std::span<const std::byte> out,
                  std::span<const float> lse);
/// The same with answers that are needed once.
Correctness judge(const Workload& workload, const Inputs& inputs, const Precision& precision,
                  std::span<const std::byte> out, std::span<const float> lse, std::uint64_t seed);

/// One verdict of two: failed if either is, errors the larger share of their bound, rows added.
Correctness worse_of(const Correctness& a, const Correctness& b);

}  // namespace raceline
