// SPDX-License-Identifier: Apache-2.0
#include "fuse.hpp"

#include "report/fusion_report.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {
namespace {

/// The fastest settled time of a problem, or that there are times and none has settled.
void take_measured(const Workload& w, const std::vector<RanCase>& ran, FusionTime& time) {
    for (const auto& [which, result] : ran) {
        if (which.workload != w || !result.measurement || result.failed()) {
            continue;
        }
        if (result.measurement->unsettled) {
            time.unsettled = true;
            continue;
        }
        const double seconds = result.measurement->seconds_median;
        if (time.measured == 0 || seconds < time.measured) {
            time.measured = seconds;
            time.kernel = which.kernel->name;
            time.predicted = result.explained ? result.explained->prediction.seconds : 0;
        }
    }
}

bool is_operation(const std::string& name) {
    try {
        return named_operation(spelled_operation(name)).record != nullptr;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

Fusion fusion_of(const Options& options) {
    require(options.suite.empty() && options.shapes.empty(), Status::invalid_argument,
            "--fuse names its own shapes: leave out --suite, --shape and --op");
    const std::string shape = operation_shape(options.fuse);
    const std::string name = shape.substr(3, shape.find(',') - 3);  // behind op=
    // Before its sizes are asked for: with them it would be refused all the same.
    const bool one_step = name.find('+') == std::string::npos && !same_word(name, Workload{}.op) &&
                          is_operation(name);
    require(!one_step, Status::invalid_argument,
            "--fuse {0}: {0} is one step: a chain to fuse has two or more, as in "
            "add+rmsnorm,n=8192x4096, or is attention; one alone is --op {0}",
            name);
    const DType dtype = options.dtype.empty() ? DType::bf16 : parse_dtype(options.dtype);
    return raceline::fusion_of(parse_shape(shape, dtype));
}

Options with_parts(const Options& options, const Fusion& fusion) {
    Options all = options;
    for (const FusionPart& part : fusion.parts) {
        if (part.workload) {
            all.shapes.push_back(format_shape(*part.workload));
        }
    }
    all.shapes.push_back(format_shape(fusion.fused));
    all.dtype.clear();
    return all;
}

std::string fusion_table(const Options& options, const Fusion& fusion, const Device& device,
                         const std::vector<RanCase>& ran, const TextStyle& style) {
    const LaunchCase how = launch_case(options, device);
    std::vector<FusionTime> times = predicted_times(fusion, device, how);
    for (std::size_t i = 0; i < fusion.parts.size(); ++i) {
        if (const std::optional<Workload>& part = fusion.parts[i].workload) {
            take_measured(*part, ran, times[i]);
        }
    }
    take_measured(fusion.fused, ran, times.back());
    return fusion_text(fusion, device, how, times, style);
}

}  // namespace raceline::cli
