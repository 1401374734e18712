// SPDX-License-Identifier: Apache-2.0
// Cases as a table for a terminal, with the accuracy of their predictions under it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/first_sight.hpp"
#include "run/run_case.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// What one row of a case table shows; filled from a live run or from receipt rows.
struct CaseLine {
    std::string shape, kernel, tile, limiter, refusal, why;
    double flops = 0;              ///< of the workload: the visited half for causal
    double bytes = 0;              ///< compulsory
    double intensity = 0;          ///< of the kernel, flop/byte
    double ridge = 0;              ///< of the engine that the kernel uses, flop/byte
    SpeedOfLight bound;            ///< of the problem; seconds 0: not known
    std::string rates;             ///< where they come from; empty: not said
    double predicted = 0;          ///< layer 2, seconds; 0: not known
    double expected = 0;           ///< with committed errors taken out, seconds; 0: not known
    std::optional<Interval> band;  ///< what past errors make of it
    double measured = 0;           ///< 0: not measured
    double spread = 0;             ///< half the 95 % interval / median
    double relative_rms = 0, rms_bound = 0, worst = 0;
    bool checked = false, passed = false;
    /// Why it is too noisy to count, in a sentence: in the table, in no accuracy. Empty: it counts.
    std::string unsettled;
    /// What had been measured before. None: not asked, as of cases that have just run.
    std::optional<Sight> sight;
};

class CaseTable {
public:
    /// An uncalibrated prediction has neither an expected time nor a band, and its heading says
    /// what it is.
    enum class Columns { prediction, uncalibrated_prediction, correctness, all };
    /// The device gives the bound of each problem, and its DRAM ceiling the share of DRAM; without
    /// one the column is empty.
    explicit CaseTable(const Device& device);

    void add(const Case& which, const CaseResult& result);
    void add(CaseLine line);

    /// A time beside the table's that is too noisy to count, and why.
    void leave_out(std::string_view what, std::string_view why);

    /// The table, then refusals grouped by reason, then accuracy by kernel, class and regime where
    /// times were taken, then what it leaves out. A table of predictions alone has a row for each
    /// problem, with its bound, and its kernels under it.
    [[nodiscard]] std::string str(Columns columns, const TextStyle& style = {}) const;

    /// "cpu_flash: it needs ..." where nothing of it ran, all for one reason; else "".
    [[nodiscard]] std::string only_refusal() const;

private:
    [[nodiscard]] std::string failure_lines(const TextStyle& style) const;
    [[nodiscard]] std::string refusal_lines(const TextStyle& style) const;
    [[nodiscard]] std::string left_out_lines(const TextStyle& style) const;
    Device device_;
    std::vector<CaseLine> lines_;
    std::vector<std::string> left_out_;
};

/// Why a measurement counts for nothing, in a sentence; empty if it counts.
std::string why_unsettled(const Measurement& measurement);

}  // namespace raceline
