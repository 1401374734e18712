// SPDX-License-Identifier: Apache-2.0
// How good predictions were: per kernel, device, regime and class of first sight, beside three
// baselines on the same rows (docs/receipts.md, "The scorecard").
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/error_band.hpp"
#include "receipt/file.hpp"
#include "report/first_sight.hpp"
#include "report/receipt_report.hpp"
#include "support/build_info.hpp"
#include "support/statistics.hpp"

namespace raceline {

/// What a group of rows is told apart by. Engines, which the API calls, stand before the rungs of
/// the ladder.
struct ScoreGroup {
    std::string device;  ///< its id, with the name where the id stands for many
    bool rung = false;
    std::string kernel;  ///< as it is called now
    Regime regime{};     ///< of the measured time
    Sight sight{};
    auto operator<=>(const ScoreGroup&) const = default;
};

/// Another number for the times of a group's rows, and the model's error on those that have it.
struct Beside {
    std::size_t count = 0;  ///< rows that have the number
    double median = 0;      ///< its absolute error, the median
    double model = 0;       ///< that of `seconds` on the same rows
};

struct Score {
    ScoreGroup group;
    PredictionAccuracy accuracy{};  ///< of `seconds`
    int profiled = 0;               ///< rows whose limiter hardware counters name
    int limiter_hits = 0;           ///< of these, predicted
    Beside expected;                ///< expected_seconds, with committed errors taken out
    Beside uncalibrated;            ///< without constants that were fitted to the kernel
    Beside datasheet;               ///< the roofline of the datasheet
    Beside roofline;                ///< of the measured ceilings: the largest time of layer 1
    Beside launch_floor;            ///< that and the launch floors of layer 2
};

/// A kernel at first sight on a device, both classes together, all regimes and each of them.
struct FirstSightScore {
    std::string device, kernel;
    bool rung = false;
    std::size_t count = 0;
    double median = 0;                 ///< absolute error of `seconds`
    std::map<Regime, Beside> regimes;  ///< `median` and `count` alone
    Beside uncalibrated, expected;     ///< as in Score
};

/// One row of a scorecard.
struct ScoredRow {
    ScoreGroup group;
    double measured = 0, seconds = 0;  ///< seconds: the model's own time
    std::optional<Interval> band;      ///< that the prediction named; rows of the index have none
    std::string id;                    ///< of the measurement row; rows of the index have none
    std::string file;                  ///< rows of the index: the file that left the tree
    PastMeasurement about;             ///< what was timed, and what was predicted of it
    std::string counted;               ///< the limiter by hardware counters; empty: not profiled
};

/// Rows that stand in no figure.
struct LeftOut {
    int unsettled = 0, failed = 0, unpredicted = 0;
    int dirty = 0;             ///< measurements of a tree with uncommitted changes
    int broken = 0;            ///< rows of any kind whose hash or chain is broken
    bool not_counted = false;  ///< a selection of rows: the numbers above say nothing
};

/// Measurement rows of receipt files and of their index. Times of comparisons, in which a peer ran
/// between, are in no figure, but make a case seen.
class Scorecard {
public:
    /// `committed`: what the committed receipts measured; every row is judged by these and by all
    /// that was added, in whatever order.
    explicit Scorecard(
        std::span<const build_info::EmbeddedSight> committed = build_info::first_sights());

    /// A receipt file, or an index if its name is index.jsonl. Lines that are no rows, and rows
    /// that check_chain refuses, become findings; the rest is kept. A file that was added before
    /// and a row that another file had count once.
    void add(const std::string& path);
    /// All of a folder of the form of receipts/.
    void add_tree(const std::string& folder);

    [[nodiscard]] std::vector<Score> scores() const;
    [[nodiscard]] std::vector<FirstSightScore> first_sights() const;
    /// Every row that stands in a figure.
    [[nodiscard]] std::vector<ScoredRow> scored_rows() const;
    /// The scores of rows of several kernels and devices together, one for each regime and class.
    [[nodiscard]] std::vector<Score> overall_scores() const;
    /// Leaves out the rows of all other suites; what was measured under these makes cases seen all
    /// the same. What stands in no figure is no longer counted.
    void keep_suites(const std::set<std::string>& suites);
    [[nodiscard]] const LeftOut& left_out() const { return left_out_; }
    [[nodiscard]] const std::vector<Finding>& broken() const { return broken_; }

private:
    /// A measured row with what was predicted for it. Times are seconds, 0: the row has none.
    struct Row {
        PastMeasurement about;
        std::string run_began;
        std::string file;  // that left the tree; its row has no id
        std::string id;
        double measured = 0, seconds = 0;
        OtherTimes others;
        std::string limiter;
        std::optional<Interval> band;
    };
    [[nodiscard]] std::vector<Score> scores_by(
        const std::function<ScoreGroup(const Row&)>& group_of_row) const;
    [[nodiscard]] std::vector<Json> sound_rows(const std::string& path);
    /// False for a copy of a row that was added. A row of the same identity that says something
    /// else becomes a finding, and neither counts.
    [[nodiscard]] bool is_new(const PastMeasurement& row, const std::string& where);
    void add_receipt(const std::string& path);
    void add_index(const std::string& path);
    void add_row(const std::string& path, const Json& row,
                 const std::map<std::string, Prediction>& predictions,
                 const std::string& run_began);
    [[nodiscard]] ScoreGroup group_of(const Row& row) const;
    [[nodiscard]] Score score_of(const ScoreGroup& group, std::span<const Row* const> rows) const;

    FirstSights sights_;
    std::set<std::string> files_;                  ///< canonical paths of what was added
    std::map<std::string, std::string> measured_;  ///< what rows say, by is_new's identity
    std::set<std::string> contested_;              ///< identities of which two rows differ
    std::vector<Row> rows_;
    std::map<std::string, std::string> counted_;  ///< limiters by counters, by measurement's id
    LeftOut left_out_;
    std::vector<Finding> broken_;
};

}  // namespace raceline
