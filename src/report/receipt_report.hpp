// SPDX-License-Identifier: Apache-2.0
// What receipts say: predictions beside measurements, accuracy at first sight and when seen.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "receipt/committed_evidence.hpp"
#include "receipt/file.hpp"
#include "report/case_table.hpp"
#include "report/compulsory_bound.hpp"
#include "report/first_sight.hpp"
#include "report/other_rows.hpp"
#include "support/build_info.hpp"

namespace raceline {

/// A finding of `report --check`, with the line it is about.
struct Finding {
    std::string file;
    std::size_t line = 0;  ///< 0: it is not there any more
    std::string what;
};
/// "FILE: line 3: WHAT", without the line where there is none.
std::string finding_text(const Finding& finding);

/// Rows of several files, joined in the order of writing. Unsettled measurements stand in the
/// table, but count for no accuracy, no first sight and no comparison.
class ReceiptReport {
public:
    /// `committed`: what the committed receipts measured, by key. Rows are judged by these and by
    /// all added files together, in whatever order they were added.
    explicit ReceiptReport(
        std::span<const build_info::EmbeddedSight> committed = build_info::first_sights());

    /// Reads a file and adds its rows. Lines that are no rows, and rows that are not as they were
    /// written, become findings; the rest is kept.
    /// With `evidence` the file is also held against what was committed.
    void add(const std::string& path, const CommittedEvidence* evidence = nullptr);

    /// Adds what manifest and index of a tree lost since they were committed, and newer lines of
    /// the index that are not as their files were.
    void add_history(const CommittedEvidence& evidence);

    [[nodiscard]] std::string str(const TextStyle& style = {}) const;

    /// Broken lines alone: they concern every reader.
    [[nodiscard]] const std::vector<Finding>& broken() const { return broken_; }

    /// Rows that are not as they were written, by their hashes: they count for nothing anywhere.
    [[nodiscard]] const std::vector<Finding>& changed() const { return changed_; }

    /// All that `--check` refuses: broken lines, chain, hashes, pairs, and cases that were faster
    /// than the bound of their own ceilings allows (the probe is wrong until it is mended).
    [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

    /// What `--check` could not look at, and what is no evidence: said, never refused.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

    /// Measurements whose kernel has changed since: never a failure, always said.
    [[nodiscard]] int stale() const { return stale_; }
    [[nodiscard]] const std::vector<Json>& rows() const { return rows_; }

private:
    void add_measurement(const std::string& path, std::size_t line, const Json& row,
                         const std::string& run_began);
    void add_comparison(const std::string& path, std::size_t line, const Json& row);
    /// Refuses a cold time below `bound`, or below what its problem takes on any kernel; a warm one
    /// is marked as one of the cache.
    void check_bound(const std::string& path, std::size_t line, const RowCase& about,
                     std::string_view who, const Measurement& measured, double bound);
    /// Of the prediction's layer 1; 0 for a model whose counts are known to have been too large.
    [[nodiscard]] double predicted_bound(const std::string& prediction_id);
    [[nodiscard]] std::string comparison_lines() const;
    FirstSights sights_;
    OtherRows others_;
    std::vector<Json> rows_;
    std::vector<Finding> broken_, changed_, findings_;
    std::vector<std::string> notes_;
    std::map<std::string, PredictionRow> predictions_;  ///< by id
    CompulsoryBound least_;                             ///< of the file that is being added
    bool overcounted_ = false;  ///< a row's model counted more than its kernel does, and was mended
    std::vector<std::string> from_cache_;  ///< warm times below their bound
    /// A measured line, whose class is only known once all files are there.
    struct Measured {
        std::size_t line;
        PastMeasurement row;
        std::string run_began;
    };
    std::vector<Measured> measured_;
    std::vector<CaseLine> lines_;
    std::map<std::string, std::string> unsettled_;       ///< sides of comparisons, and why
    std::map<std::string, std::vector<double>> ratios_;  ///< peer's time / ours, by peer and kernel
    std::string device_text_;
    int stale_ = 0;
    std::set<std::filesystem::path> files_;  // that were added
    std::set<std::string> ids_;              // of all rows so far
    std::size_t copies_ = 0;                 // rows that stand in two files or lines
};

}  // namespace raceline
