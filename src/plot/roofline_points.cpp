// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_points.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "plot/chart.hpp"

namespace raceline {
namespace {

// The roof of what limits it: of its predicted limiter, or of its busiest resource where the
// limiter has none, or where that roof is clearly nearer, for no program passes the nearest one.
void set_limit(const Prediction& predicted, double flops, RooflinePoint& point) {
    const Roofline& roof = predicted.layer1;
    const auto of_limiter = roof.seconds.find(predicted.limiter);
    point.predicted_limiter = predicted.limiter;
    point.by_resource = of_limiter != roof.seconds.end();
    constexpr double about_the_same = 1.02;
    const double least = roof.bound_seconds;
    const double own = point.by_resource ? of_limiter->second : 0;
    if (own > 0 && least < own * about_the_same) {
        point.limit = flops / own;
        point.limiter = predicted.limiter;
    } else if (least > 0) {
        point.limit = flops / least;
        point.limiter = roof.limiter;
        point.limiter_limit = own > 0 ? flops / own : 0;
    }
}

// The least time of any program and what sets it. A row that does not say has at least the floor
// of its launch.
std::pair<double, std::string> bound_of(const SpeedOfLight& bound, const Prediction& predicted) {
    if (bound.seconds > 0) {
        return {bound.seconds, bound.limiter};
    }
    const auto& terms = predicted.layer2;
    const auto launch = std::ranges::find(
        terms, "launch", [](const auto& term) -> std::string_view { return term.first; });
    return {launch == terms.end() ? 0 : launch->second, "launch"};
}

}  // namespace

RooflinePoint roofline_point(const TimedCase& one) {
    const double flops = one.workload.flops();
    RooflinePoint point;
    point.written = one.written;
    point.intensity = flops / (one.workload.bytes_read() + one.workload.bytes_written());
    point.measured = flops / one.measured.seconds_median;
    if (one.predicted) {
        const Roofline& roof = one.predicted->layer1;
        point.intensity =
            roof.arithmetic_intensity > 0 ? roof.arithmetic_intensity : point.intensity;
        point.predicted = flops / one.predicted->seconds;
        set_limit(*one.predicted, flops, point);
        // What no program reaches is not left.
        const auto [least, by] = bound_of(one.bound, *one.predicted);
        if (least > 0 && point.limit > flops / least) {
            if (point.by_resource && point.limiter_limit <= 0) {
                point.limiter_limit = point.limit;
            }
            point.limit = flops / least;
            point.bound = by;
            point.bound_of_datasheet = by == one.bound.limiter && one.bound.rates == "datasheet";
        }
        for (const auto& [resource, seconds] : roof.seconds) {
            point.asked.insert(resource);
        }
    }
    return point;
}

namespace {

// Rates whose marks lie on each other.
bool is_near(double rate, double other) {
    constexpr double near = 1.2;
    return rate < other * near && other < rate * near;
}

}  // namespace

void find_hidden_marks(RooflineGroups& groups) {
    using KernelAt = std::pair<std::string, long>;  // kernel and intensity, to two hundredths
    struct Member {
        const RooflineGroup* group;
        RooflinePoint* point;
    };
    std::map<KernelAt, std::vector<Member>> cases;
    for (auto& [group, points] : groups) {
        for (RooflinePoint& point : points) {
            cases[{group.kernel, std::lround(50 * std::log(point.intensity))}].push_back(
                {&group, &point});
        }
    }
    for (auto& [which, members] : cases) {
        std::map<const RooflineGroup*, std::string> newest;
        for (const auto& [group, point] : members) {
            newest[group] = std::max(newest[group], point->written);
        }
        for (const Member& one : members) {
            std::set<const RooflineGroup*> before;
            for (const auto& [group, point] : members) {
                const bool newer =
                    std::pair(newest[group], *one.group) > std::pair(newest[one.group], *group);
                if (group != one.group && newer && is_near(point->measured, one.point->measured)) {
                    before.insert(group);
                }
            }
            one.point->before = before.size();
        }
    }
}

namespace {

std::size_t most_before(const RooflineGroups& groups) {
    std::size_t most = 0;
    for (const auto& [group, points] : groups) {
        for (const RooflinePoint& point : points) {
            most = std::max(most, point.before);
        }
    }
    return most;
}

// By which part of the x axis the rightmost of so many marks is moved: by one more than its own
// width for each, which is about half the height of a line, but by no more than three.
double moved(std::size_t marks, const Place& place) {
    constexpr double apart = 0.6 * line_height;
    constexpr double most = 1.5 * line_height;
    return std::min(most, apart * static_cast<double>(marks)) / place.width;
}

}  // namespace

double shift_of(const Panel& panel, const RooflinePoint& point, const RooflineGroups& groups,
                const Place& place) {
    const std::size_t most = most_before(groups);
    const double share = most == 0 ? 0 : moved(most, place) / static_cast<double>(most);
    return std::pow(panel.x.high / panel.x.low, share * static_cast<double>(point.before));
}

bool has_shifts(const RooflineGroups& groups) {
    return most_before(groups) > 0;
}

void make_room_for_shifts(Panel& panel, const RooflineGroups& groups, const Place& place) {
    // The part of the axis that marks are moved by is one of the longer axis, too.
    const double part = moved(most_before(groups), place);
    panel.x.high = panel.x.low * std::pow(panel.x.high / panel.x.low, 1 / (1 - part));
}

RooflineGroups roofline_groups(const TimedRows& rows) {
    RooflineGroups groups;
    for (const TimedCase& one : rows.cases) {
        const RooflinePoint point = roofline_point(one);
        if (point.intensity > 0 && point.measured > 0) {
            groups[{one.device, one.commit, one.kernel, way_of(one)}].push_back(point);
        }
    }
    return groups;
}

std::size_t count_points(const RooflineGroups& groups) {
    std::size_t count = 0;
    for (const auto& [group, points] : groups) {
        count += points.size();
    }
    return count;
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
