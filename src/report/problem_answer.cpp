// SPDX-License-Identifier: Apache-2.0
#include "report/problem_answer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "registry/registry.hpp"
#include "run/call_caveats.hpp"
#include "run/memory_need.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

void sort_longest_first(std::vector<TimeTerm>& terms) {
    std::ranges::sort(terms, [](const TimeTerm& a, const TimeTerm& b) {
        return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
    });
}

double term_of(const Prediction& prediction, const std::string& resource) {
    const auto found =
        std::ranges::find(prediction.layer2, resource, &std::pair<std::string, double>::first);
    return found == prediction.layer2.end() ? 0 : found->second;
}

void explain(ProblemAnswer& answer, const Device& device, Calibration calibration) {
    // A resource that decides for less than half of its own work lies beside others.
    constexpr double hidden = 0.5;
    answer.explained = explain_case(answer.which, device, calibration);
    const Prediction& p = answer.explained.prediction;
    for (const auto& [name, seconds] : p.layer2) {
        answer.terms.push_back({name, seconds, seconds / p.seconds});
    }
    for (const auto& [resource, seconds] : p.layer1.seconds) {
        const double others = seconds - term_of(p, resource);
        if (others > hidden * seconds) {
            answer.beside.push_back({resource, others, others / p.seconds});
        }
    }
    if (const auto behind = hidden_work(answer.which, device, p)) {
        answer.beside.push_back({behind->resource, behind->seconds, behind->seconds / p.seconds});
    }
    answer.too_large =
        why_too_large(*answer.which.kernel, answer.which.tile, answer.which.workload, device);
    answer.not_compiled = why_not_compiled(device);
    answer.without_floor = lacks_launch_floor(device, p.seconds);
    sort_longest_first(answer.terms);
    sort_longest_first(answer.beside);
    answer.helps = what_helps(answer.which, device, calibration);
}

// The first three, and how many more.
std::string some_of(const std::vector<std::string_view>& names) {
    constexpr std::size_t most = 4;
    return names.size() <= most
               ? fmt::format("{}", fmt::join(names, ", "))
               : fmt::format("{} and {} more",
                             fmt::join(names.begin(), names.begin() + most - 1, ", "),
                             names.size() - (most - 1));
}

// "it needs a Hopper GPU", of several: "each needs a Hopper GPU".
std::string reason_of(std::size_t kernels, const std::string& reason) {
    constexpr std::string_view it = "it ";
    return kernels > 1 && reason.starts_with(it) ? "each " + reason.substr(it.size()) : reason;
}

// Whether some device runs it with a tree, and not without one: its twin takes the other calls.
bool takes_trees_alone(const Kernel& kernel) {
    const Workload plain = parse_shape("h=8,q=8,k=64,d=64");
    const Workload tree = parse_shape("h=8,q=8,k=64,d=64,tree=1");
    return kernel.trees && std::ranges::any_of(device_ids(), [&](const std::string& id) {
               const Device device = datasheet_device(id);
               return why_not(kernel, tree, device).empty() &&
                      !why_not(kernel, plain, device).empty();
           });
}

// "decode_sm90: it takes up to 16 query tokens a sequence; simt, prefill_mma: ..."
std::string refusal_of(const Workload& workload, const Device& device) {
    std::string text;
    for (auto [reason, kernels] : api::reasons_of_engines(workload, device)) {
        if (workload.tree == 0) {
            std::erase_if(kernels, [](std::string_view name) {
                return takes_trees_alone(find_kernel(name));
            });
        }
        if (kernels.empty()) {
            continue;
        }
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", some_of(kernels),
                            reason_of(kernels.size(), reason));
    }
    return text;
}

bool runs_elsewhere(const Kernel& kernel, const Workload& workload) {
    return kernel.engine == Engine::cuda &&
           std::ranges::any_of(device_ids(), [&](const std::string& id) {
               return why_not(kernel, workload, datasheet_device(id)).empty();
           });
}

// A time that is far from the bound for want of a kernel says nothing of the device.
std::string made_for_others(const ProblemAnswer& answer, const Device& device) {
    constexpr double far = 2;
    if (device.kind != DeviceKind::cuda || answer.bound.seconds <= 0 ||
        answer.explained.prediction.seconds < far * answer.bound.seconds) {
        return "";
    }
    const Workload& workload = answer.which.workload;
    for (const auto& [reason, names] : api::reasons_of_engines(workload, device)) {
        std::vector<std::string_view> made;
        std::ranges::copy_if(names, std::back_inserter(made), [&](std::string_view name) {
            return runs_elsewhere(find_kernel(name), workload);
        });
        if (!made.empty()) {
            return fmt::format("{} {} this problem on other devices, not on this one: {}",
                               some_of(made), made.size() == 1 ? "takes" : "take",
                               reason_of(made.size(), reason));
        }
    }
    return "";
}

// Whether a call runs far from the bound and without a matrix engine, for want of a kernel that has
// one: a problem of other sizes or types would get it.
bool others_refuse(const ProblemAnswer& answer, const Device& device) {
    constexpr double far = 3, long_enough = 20e-6;
    const Prediction& prediction = answer.explained.prediction;
    const bool multiplies = std::ranges::any_of(prediction.layer1.seconds, [](const auto& term) {
        return term.first.starts_with("flop.") && !term.first.starts_with("flop.fma.");
    });
    return answer.made_for_others.empty() && device.kind == DeviceKind::cuda && !multiplies &&
           prediction.seconds > long_enough && prediction.seconds > far * answer.bound.seconds &&
           std::ranges::any_of(api::reasons_of_engines(answer.which.workload, device),
                               [](const auto& reason) {
                                   return find_kernel(reason.second.front()).engine == Engine::cuda;
                               });
}

}  // namespace

ProblemAnswer answer_case(const Case& which, const Device& device, Calibration calibration) {
    ProblemAnswer answer;
    answer.which = which;
    answer.by_api = false;
    answer.bound = speed_of_light(device, which.workload, which.options.how);
    explain(answer, device, calibration);
    return answer;
}

ProblemAnswer answer_problem(const Case& problem, const Device& device, const Device& of_calls,
                             Calibration calibration) {
    const auto engine =
        api::engine_of_call(problem.workload, of_calls, problem.options.how.threads);
    ProblemAnswer answer;
    answer.which = problem;
    answer.which.kernel = nullptr;
    answer.bound = speed_of_light(device, problem.workload, problem.options.how);
    if (!engine) {
        answer.refusal = refusal_of(problem.workload, of_calls);
        return answer;
    }
    answer.which.kernel = engine->kernel;
    answer.which.tile = engine->tile;
    // Of a device whose rates somebody named, a rate may be missing.
    answer.refusal = why_not(*engine->kernel, problem.workload, engine->tile, device);
    if (answer.refusal.empty()) {
        explain(answer, device, calibration);
        answer.made_for_others = made_for_others(answer, device);
        answer.others_refuse = others_refuse(answer, device);
    } else {
        answer.refusal = fmt::format("{}: {}", engine->kernel->name, answer.refusal);
        answer.which.kernel = nullptr;
    }
    return answer;
}

}  // namespace raceline
