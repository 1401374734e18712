// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_points.hpp"

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

const RooflinePoint* widest_gap(const std::vector<RooflinePoint>& points) {
    const RooflinePoint* widest = nullptr;
    for (const RooflinePoint& point : points) {
        if (point.limit > 0 && drawable(point.measured) &&
            (widest == nullptr ||
             point.limit / point.measured > widest->limit / widest->measured)) {
            widest = &point;
        }
    }
    return widest;
}

}  // namespace raceline
