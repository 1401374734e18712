// SPDX-License-Identifier: Apache-2.0
// Receipts as charts. None throws for what rows lack: a chart without points says so in its notes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "plot/chart.hpp"
#include "raceline/point.hpp"
#include "report/receipt_diff.hpp"
#include "report/scorecard.hpp"
#include "report/size_sweep.hpp"
#include "report/timed_rows.hpp"

namespace raceline {

/// How much of many receipts a picture shows: what a reader can look through, by a rule that a note
/// states beside what is left out, or all.
enum class Shown { most_useful, all };

/// The roofline: flop/s over flop per byte of DRAM, both logarithmic. Roofs are the ceilings in the
/// files, else the committed ones of the device, else its datasheet's; every level of memory, every
/// engine and type. A prediction is hollow, its measurement filled, a line joins them; a dotted
/// line leads to the roof of the limiter (where it has none, of the busiest resource), with the
/// speed-up that is left. Devices and commits have marks of their own, and commits of one case
/// stand beside each other. Of more than eight panels those of the kernels with most cases are
/// shown, each case at its newest commit.
Chart roofline_chart(const TimedRows& rows, Shown shown = Shown::most_useful);

/// Bytes a second over the bytes of the problem, as a share of what a copy of large tensors gets:
/// hollow marks are predictions, filled ones measurements. A level line is that of the copy, a
/// slanted one the floor of a launch. A panel for each device; those without a ceiling are named in
/// a note.
Chart traffic_chart(const TimedRows& rows);

/// Of each chain the measured times of its steps by themselves, end to end, and below them that of
/// the fused chain, in shares of their sum; a hollow mark is the predicted share. Chains of which a
/// step was not timed on that device and in that way are left out.
Chart fusion_chart(const TimedRows& rows);

/// A point of the user's own, with its verdict.
struct ChartedPoint {
    std::string name;
    PointVerdict verdict;
    WorkPoint work;
};

/// Points of one's own under the roofs of a device: hollow at the bound, filled where measured.
/// Without operations or bytes a point has no place, and a note says so.
Chart points_chart(const Device& device, const std::vector<ChartedPoint>& points);

/// A kernel's prediction of one problem.
struct ChartedPrediction {
    std::string name, kernel;
    double flops = 0;
    Prediction prediction;
};

/// Predictions under the roofs of all levels of memory. A kernel has a mark for each level, at its
/// operations for each byte of that level; all stand at the rate that the model predicts, and a
/// dotted line leads up to the roof of the level. Marks without bytes of their own are left out.
Chart levels_chart(const Device& device, const std::vector<ChartedPrediction>& predictions);

/// Time over the size that varies: the bound of the problem, its bytes and its operations alone,
/// what is expected of the kernel, and upright lines where the limiter of the bound changes.
Chart size_sweep_chart(const SizeSweep& sweep);

/// Predicted over measured time of every row, by class and hit, beside the errors of the model and
/// of its baselines by regime.
Chart scorecard_chart(const Scorecard& card);

/// Time of each peer over ours by shape, with intervals; over 1 ours is faster. Of more than sixty
/// rows the newest comparisons are shown, and of these the rows where ours does worst.
Chart compare_chart(const TimedRows& rows, Shown shown = Shown::most_useful);

/// How a track of the ladder climbs: speed over its first rung, predicted and measured, and each
/// step's own speed-up. `track`: prefill, decode or from-scratch; `shape`: the case that is shown,
/// empty: that of docs/ladder.md. Throws Error(invalid_argument) for another track.
Chart trajectory_chart(const TimedRows& rows, std::string_view track, const std::string& shape);

/// The rungs of a track by time, each predicted and measured; arguments as above.
Chart ladder_chart(const TimedRows& rows, std::string_view track, const std::string& shape);

/// Measured and predicted time over the one field in which workloads differ: seqlen_q, seqlen_k,
/// batch and so on; `length` moves both lengths together, `length-of-same-tokens` the batch
/// against them. `field` empty: the one over which most cases line up, and as many further ones on
/// panels of their own as show the kernels of the API that have no line there. Of more than twelve
/// lines of a field those of sweep_lines.hpp are shown; all stand on panels of twelve. Throws
/// Error(invalid_argument) for a field that no workload has.
Chart sweep_chart(const TimedRows& rows, const std::string& field,
                  Shown shown = Shown::most_useful);
/// What it can run over.
std::vector<std::string_view> sweep_fields();

/// Time before over time after of every case of two sets of receipts, with intervals; of more than
/// eighty those that changed most.
Chart diff_chart(const ReceiptDiff& diff, Shown shown = Shown::most_useful);

}  // namespace raceline
