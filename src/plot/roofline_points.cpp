// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_points.hpp"

#include <algorithm>
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

}  // namespace

RooflineGroups roofline_groups(const TimedRows& rows) {
    RooflineGroups groups;
    for (const TimedCase& one : rows.cases) {
        const RooflinePoint point = point_of(one);
        if (point.intensity > 0 && point.measured > 0) {
            groups[{one.device, one.commit, one.kernel}].push_back(point);
        }
    }
    return groups;
}

bool several_commits(const RooflineGroups& groups) {
    std::set<std::pair<std::string, std::string>> kernels;
    return std::ranges::any_of(groups, [&](const auto& one) {
        return !kernels.emplace(one.first.device, one.first.kernel).second;
    });
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
