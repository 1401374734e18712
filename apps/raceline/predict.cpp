// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "cases.hpp"
#include "fuse.hpp"
#include "options.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "report/case_table.hpp"
#include "report/explanation.hpp"
#include "report/layer_report.hpp"
#include "report/size_sweep.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "terminal.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {
namespace {

// Cases of one problem stand side by side; each group begins with its bound.
struct Group {
    std::span<const Case> cases;
    std::vector<CaseResult> results;
};

CaseResult predicted(const Case& one, const Device& device, Calibration calibration) {
    CaseResult result;
    result.refusal = why_not(*one.kernel, one.workload, device);
    if (result.refusal.empty()) {
        result.explained = explain_case(one, device, calibration);
    }
    return result;
}

std::vector<Group> groups_of(std::span<const Case> cases, const Device& device,
                             Calibration calibration) {
    std::vector<Group> groups;
    while (!cases.empty()) {
        const auto other = std::ranges::find_if(
            cases, [&](const Case& one) { return one.workload != cases.front().workload; });
        const auto count = static_cast<std::size_t>(other - cases.begin());
        Group& group = groups.emplace_back(Group{cases.first(count), {}});
        for (const Case& one : group.cases) {
            group.results.push_back(predicted(one, device, calibration));
        }
        cases = cases.subspan(count);
    }
    return groups;
}

bool is_served(const Group& group) {
    return std::ranges::any_of(
        group.results, [](const CaseResult& result) { return result.explained.has_value(); });
}

BoundRow bound_row(const Group& group, const Device& device) {
    BoundRow row = raceline::bound_row(group.cases.front(), device);
    for (std::size_t i = 0; !is_served(group) && i < group.cases.size(); ++i) {
        row.unserved[std::string(group.cases[i].kernel->name)] = group.results[i].refusal;
    }
    return row;
}

void put_rows(const Group& group, const Options& options, const Device& device,
              const RowSink& sink) {
    sink.put("", bound_row(group, device));
    for (std::size_t i = 0; i < group.cases.size(); ++i) {
        const Case& one = group.cases[i];
        const CaseResult& result = group.results[i];
        if (result.explained) {
            PredictionRow row = prediction_row(one, device, *result.explained);
            if (options.explain) {
                row.more["constants"] = constants_to_json(result.explained->constants);
            }
            sink.put(one.kernel->source_hash, row);
        } else if (sink.refusals) {
            sink.put(one.kernel->source_hash,
                     RefusalRow{.about = row_case(one, device), .reason = result.refusal});
        }
    }
}

std::string text_of(std::span<const Group> groups, const Options& options, const Device& device) {
    CaseTable table(device);
    std::string explanations;
    for (const Group& group : groups) {
        for (std::size_t i = 0; i < group.cases.size(); ++i) {
            table.add(group.cases[i], group.results[i]);
            if (options.explain && group.results[i].explained) {
                explanations += explanation(group.cases[i], device, *group.results[i].explained);
            }
        }
    }
    std::vector<std::pair<Case, CaseResult>> all;
    for (const Group& group : groups) {
        for (std::size_t i = 0; i < group.cases.size(); ++i) {
            all.emplace_back(group.cases[i], group.results[i]);
        }
    }
    const auto columns = options.uncalibrated ? CaseTable::Columns::uncalibrated_prediction
                                              : CaseTable::Columns::prediction;
    return table.str(columns) + layer_text(all, device) + explanations;
}

}  // namespace

int run_size_sweep(const Options& options, const Device& device) {
    require(options.shapes.size() == 1 && options.suite.empty() && options.fuse.empty(),
            Status::invalid_argument, "--over needs one --shape or --op, and no suite");
    require(!options.json, Status::invalid_argument,
            "--over prints a table: for rows name each size by --shape");
    const DType dtype = options.dtype.empty() ? DType::bf16 : parse_dtype(options.dtype);
    fmt::print("{}", size_sweep_text(options.shapes.front(), dtype, parse_size_range(options.over),
                                     device, launch_case(options, device)));
    return exit_ok;
}

int run_predict(const Options& options) {
    const Device device = select_device(options);
    if (!options.over.empty()) {
        return run_size_sweep(options, device);
    }
    std::optional<Fusion> fusion;
    if (!options.fuse.empty()) {
        fusion = fusion_of(options);
    }
    const std::vector<Case> cases =
        select_cases(fusion ? with_parts(options, *fusion) : options, device);
    const std::vector<Group> groups = groups_of(cases, device, calibration_of(options));
    std::optional<ReceiptWriter> writer = named_receipts(options);
    RowSink sink = sink_of(options, writer ? &*writer : nullptr);
    if (std::ranges::any_of(groups, is_served)) {
        sink.describe(device);
    }
    for (const Group& group : groups) {
        put_rows(group, options, device, sink);
    }
    if (!options.json) {
        fmt::print("{}", fusion ? fusion_table(options, *fusion, device, {})
                                : text_of(groups, options, device));
    }
    return exit_ok;
}

}  // namespace raceline::cli
