// SPDX-License-Identifier: Apache-2.0
// Cases as points of a roofline.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/placement.hpp"
#include "report/timed_rows.hpp"

namespace raceline {

struct RooflinePoint {
    double intensity = 0;                           ///< flop per byte of DRAM
    double predicted = 0, measured = 0, limit = 0;  ///< flop/s; 0: not known
    /// The resource of `limit`: the predicted limiter, or the busiest one where that has no roof or
    /// the busiest one's is clearly lower.
    std::string limiter;
    /// Whether the predicted limiter is a resource: neither launches, nor latency, nor the tail of
    /// the last wave, of which none has a roof to come nearer to.
    bool by_resource = false;
    std::string predicted_limiter;
    /// What no program can beat, where that is lower than `limit`, which it replaces: "launch" for
    /// the floor of one, a resource, or "".
    std::string bound;
    /// Whether the rate behind `bound` is the datasheet's, which measured roofs lie below.
    bool bound_of_datasheet = false;
    /// What the predicted limiter's own roof allows, where a lower one is `limit`; else 0.
    double limiter_limit = 0;
    std::string written;  ///< when it was measured
    /// How many groups of its panel with a newer case of its kernel at this intensity do about the
    /// same rate: their marks would hide this one.
    std::size_t before = 0;
    std::set<std::string> asked;  ///< resources that it needs, as far as a prediction says
};

/// What has marks of its own.
struct RooflineGroup {
    std::string device, commit, kernel;
    std::string way = {};  ///< of launching, and the regime
    auto operator<=>(const RooflineGroup&) const = default;
};
using RooflineGroups = std::map<RooflineGroup, std::vector<RooflinePoint>>;

RooflinePoint roofline_point(const TimedCase& one);

/// Cases without an intensity or a rate are left out.
RooflineGroups roofline_groups(const TimedRows& rows);

std::size_t count_points(const RooflineGroups& groups);

/// Sets `before` of all points, of groups that stand on one panel.
void find_hidden_marks(RooflineGroups& groups);

/// Of each kernel on a device the point whose limiter leaves most, of those that a resource limits
/// if there are any, by the group that it is of. Kernels without a known limit have none.
std::map<RooflineGroup, const RooflinePoint*> widest_gaps(const RooflineGroups& groups);

/// How far right of its place a point is drawn, as a factor: where one case was measured at several
/// commits, no mark hides another. All of a case together stand within the width of three marks,
/// since what is moved is drawn at a wrong intensity.
double shift_of(const Panel& panel, const RooflinePoint& point, const RooflineGroups& groups,
                const Place& place);
bool has_shifts(const RooflineGroups& groups);
/// Lets the x axis end further right by what its points are moved.
void make_room_for_shifts(Panel& panel, const RooflineGroups& groups, const Place& place);

}  // namespace raceline
