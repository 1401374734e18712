// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace raceline {
namespace {

// More panels, or marks of more groups on them, are no picture to look at, but one to search.
constexpr std::size_t most_panels = 8;
constexpr std::size_t most_groups_of_panels = 24;

// Each kernel, shape and way of launching at its newest commit alone; the groups have no commit.
RooflineGroups newest_groups(const TimedRows& rows) {
    const auto case_of = [](const TimedCase& one) {
        return std::tuple(one.device, one.kernel, one.shape, way_of(one));
    };
    std::map<std::tuple<std::string, std::string, std::string, std::string>, const TimedCase*>
        newest;
    for (const TimedCase& one : rows.cases) {
        const TimedCase*& known = newest[case_of(one)];
        known = known == nullptr || known->written < one.written ? &one : known;
    }
    RooflineGroups groups;
    for (const TimedCase& one : rows.cases) {
        const RooflinePoint point = roofline_point(one);
        if (point.intensity > 0 && point.measured > 0 &&
            newest.at(case_of(one))->commit == one.commit) {
            groups[{one.device, "", one.kernel, way_of(one)}].push_back(point);
        }
    }
    return groups;
}

using KernelOn = std::pair<std::string, std::string>;  // a device and its kernel

std::set<KernelOn> kernels_of(const RooflineGroups& groups) {
    std::set<KernelOn> kernels;
    for (const auto& [group, points] : groups) {
        kernels.emplace(group.device, group.kernel);
    }
    return kernels;
}

// A kernel counts for the operation that most of its cases are of.
std::map<KernelOn, std::string> operations_of(const TimedRows& rows) {
    std::map<KernelOn, std::map<std::string, std::size_t>> counts;
    for (const TimedCase& one : rows.cases) {
        ++counts[{one.device, one.kernel}][one.workload.op];
    }
    std::map<KernelOn, std::string> operations;
    for (const auto& [kernel, of] : counts) {
        operations[kernel] =
            std::ranges::max_element(of, {}, [](const auto& one) { return one.second; })->first;
    }
    return operations;
}

// Of each operation the kernel with most cases, then the others; those with most cases first.
std::vector<KernelOn> by_operation(const RooflineGroups& groups, const TimedRows& rows) {
    std::map<KernelOn, std::size_t> cases;
    for (const auto& [group, points] : groups) {
        cases[{group.device, group.kernel}] += points.size();
    }
    const std::map<KernelOn, std::string> operations = operations_of(rows);
    std::map<std::string, std::vector<KernelOn>> of_operation;
    for (const auto& [kernel, count] : cases) {
        of_operation[operations.at(kernel)].push_back(kernel);
    }
    std::vector<std::tuple<bool, std::size_t, KernelOn>> order;  // most cases first
    for (auto& [operation, kernels] : of_operation) {
        std::ranges::sort(kernels, {}, [&](const KernelOn& kernel) {
            return std::pair(~cases.at(kernel), kernel);
        });
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            order.emplace_back(i > 0, ~cases.at(kernels[i]), kernels[i]);
        }
    }
    std::ranges::sort(order);
    std::vector<KernelOn> kernels;
    kernels.reserve(order.size());
    for (const auto& [second, few, kernel] : order) {
        kernels.push_back(kernel);
    }
    return kernels;
}

}  // namespace

ChosenGroups chosen_groups(const TimedRows& rows, Shown shown) {
    const RooflineGroups all = roofline_groups(rows);
    if (shown == Shown::all ||
        (kernels_of(all).size() <= most_panels && all.size() <= most_groups_of_panels)) {
        return {all};
    }
    RooflineGroups groups = newest_groups(rows);
    const std::vector<KernelOn> order = by_operation(groups, rows);
    std::erase_if(groups, [&](const auto& one) {
        const KernelOn of(one.first.device, one.first.kernel);
        return std::ranges::find(order, of) - order.begin() >=
               static_cast<std::ptrdiff_t>(most_panels);
    });
    const bool devices = std::ranges::any_of(
        all, [&](const auto& one) { return one.first.device != all.begin()->first.device; });
    const std::string kernels =
        order.size() > most_panels
            ? fmt::format(
                  "{} of {} kernels{} are drawn, of each operation those with most cases, "
                  "each",
                  most_panels, order.size(), devices ? " of a device" : "")
            : "Each";
    std::set<std::string> absent;
    for (const auto& [group, points] : all) {
        absent.insert(group.device);
    }
    for (const auto& [group, points] : groups) {
        absent.erase(group.device);
    }
    std::string note =
        fmt::format("{} case at its newest commit: {} of {} times{}. --all draws the others too.",
                    kernels, count_points(groups), count_points(all),
                    absent.empty() ? "" : fmt::format("; none is of {}", fmt::join(absent, ", ")));
    return {std::move(groups), std::move(note)};
}

}  // namespace raceline
