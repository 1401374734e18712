// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_points.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "plot/chart.hpp"

namespace raceline {
namespace {

RooflinePoint point_of(const TimedCase& one) {
    const double flops = one.workload.flops();
    RooflinePoint point;
    point.intensity = flops / (one.workload.bytes_read() + one.workload.bytes_written());
    point.measured = flops / one.measured.seconds_median;
    if (one.predicted) {
        const Roofline& roof = one.predicted->layer1;
        point.intensity =
            roof.arithmetic_intensity > 0 ? roof.arithmetic_intensity : point.intensity;
        point.predicted = flops / one.predicted->seconds;
        point.limit = roof.bound_seconds > 0 ? flops / roof.bound_seconds : 0;
        point.limiter = roof.limiter;
        point.by_resource = roof.seconds.contains(one.predicted->limiter);
        for (const auto& [resource, seconds] : roof.seconds) {
            point.asked.insert(resource);
        }
    }
    return point;
}

void count_before(RooflineGroups& groups) {
    // By device, kernel and intensity, to two hundredths, the commits that have such a case.
    std::map<std::tuple<std::string, std::string, long>, std::set<std::string>> commits;
    for (auto& [group, points] : groups) {
        for (RooflinePoint& point : points) {
            auto& here =
                commits[{group.device, group.kernel, std::lround(50 * std::log(point.intensity))}];
            here.insert(group.commit);
            point.before = here.size() - 1;
        }
    }
}

// By which part of the x axis marks of one case at two commits stand apart: a mark is about as wide
// as half a line of words is high.
double apart(const Place& place) {
    return 0.6 * line_height / place.width;
}

std::size_t most_before(const RooflineGroups& groups) {
    std::size_t most = 0;
    for (const auto& [group, points] : groups) {
        for (const RooflinePoint& point : points) {
            most = std::max(most, point.before);
        }
    }
    return most;
}

}  // namespace

double shift_of(const Panel& panel, const RooflinePoint& point, const Place& place) {
    return std::pow(panel.x.high / panel.x.low, apart(place) * static_cast<double>(point.before));
}

bool has_shifts(const RooflineGroups& groups) {
    return most_before(groups) > 0;
}

void make_room_for_shifts(Panel& panel, const RooflineGroups& groups, const Place& place) {
    // The part of the axis that marks are moved by is one of the longer axis, too.
    constexpr double most = 0.8;
    const double moved = std::min(most, apart(place) * static_cast<double>(most_before(groups)));
    panel.x.high = panel.x.low * std::pow(panel.x.high / panel.x.low, 1 / (1 - moved));
}

RooflineGroups roofline_groups(const TimedRows& rows) {
    RooflineGroups groups;
    for (const TimedCase& one : rows.cases) {
        const RooflinePoint point = point_of(one);
        if (point.intensity > 0 && point.measured > 0) {
            groups[{one.device, one.commit, one.kernel}].push_back(point);
        }
    }
    count_before(groups);
    return groups;
}

std::map<RooflineGroup, const RooflinePoint*> widest_gaps(const RooflineGroups& groups) {
    using OnDevice = std::pair<std::string, std::string>;  // and its kernel
    std::map<OnDevice, std::pair<const RooflineGroup*, const RooflinePoint*>> widest;
    const auto key = [](const RooflinePoint& point) {
        return std::pair(point.by_resource, point.limit / point.measured);
    };
    for (const auto& [group, points] : groups) {
        for (const RooflinePoint& point : points) {
            if (point.limit > 0 && drawable(point.measured)) {
                const std::pair here(&group, &point);
                auto& best = widest.try_emplace({group.device, group.kernel}, here).first->second;
                best = key(point) > key(*best.second) ? here : best;
            }
        }
    }
    std::map<RooflineGroup, const RooflinePoint*> gaps;
    for (const auto& [kernel, best] : widest) {
        gaps[*best.first] = best.second;
    }
    return gaps;
}

}  // namespace raceline
