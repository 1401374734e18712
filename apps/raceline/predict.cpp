// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "cases.hpp"
#include "fuse.hpp"
#include "options.hpp"
#include "plot/charts.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "report/answer_text.hpp"
#include "report/case_table.hpp"
#include "report/explanation.hpp"
#include "report/layer_report.hpp"
#include "report/problem_answer.hpp"
#include "report/size_sweep.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
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

void add_bytes(SpeedOfLight& bound, const Workload& workload) {
    bound.bytes_read = workload.bytes_read();
    bound.bytes_written = workload.bytes_written();
}

BoundRow bound_row(const Group& group, const Device& device) {
    BoundRow row = raceline::bound_row(group.cases.front(), device);
    add_bytes(row.bound, group.cases.front().workload);
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
            add_bytes(row.bound, one.workload);
            if (const auto hidden = hidden_work(one, device, result.explained->prediction)) {
                row.more["hidden"] = {{hidden->resource, hidden->seconds}};
            }
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

// All kernels of the groups, or those that were named.
std::string table_of(std::span<const Group> groups, const Options& options, const Device& device,
                     const TextStyle& style) {
    CaseTable table(device);
    for (const Group& group : groups) {
        for (std::size_t i = 0; i < group.cases.size(); ++i) {
            if (!is_beside_the_point(group.cases[i], options)) {
                table.add(group.cases[i], group.results[i]);
            }
        }
    }
    return table.str(options.uncalibrated ? CaseTable::Columns::uncalibrated_prediction
                                          : CaseTable::Columns::prediction,
                     style);
}

std::string explanations_of(std::span<const Group> groups, const Device& device,
                            const TextStyle& style) {
    std::string text;
    for (const Group& group : groups) {
        for (std::size_t i = 0; i < group.cases.size(); ++i) {
            if (const std::optional<ExplainedPrediction>& explained = group.results[i].explained) {
                text += explanation(group.cases[i], device, *explained, style);
            }
        }
    }
    return text;
}

std::string explanations_of(std::span<const ProblemAnswer> answers, const Device& device,
                            const TextStyle& style) {
    std::string text;
    for (const ProblemAnswer& answer : answers) {
        if (answer.served()) {
            text += explanation(answer.which, device, answer.explained, style);
        }
    }
    return text;
}

std::vector<ProblemAnswer> answers_of(const Options& options, const Device& device) {
    const Device of_calls = select_device_of_calls(options);
    std::vector<ProblemAnswer> answers;
    for (const Case& problem : select_problems(options, device)) {
        answers.push_back(answer_problem(problem, device, of_calls, calibration_of(options)));
    }
    return answers;
}

void print_all(const Options& options, const Device& device, std::span<const Group> groups) {
    const TextStyle style = stdout_style(options);
    fmt::print("\n{}\n{}", inked("All kernels", Ink::heading, style),
               table_of(groups, options, device, style));
}

// Of answers, as cases that a layer's parts are summed of.
std::vector<RanCase> cases_of(std::span<const ProblemAnswer> answers) {
    std::vector<RanCase> cases;
    for (const ProblemAnswer& answer : answers) {
        CaseResult result;
        result.refusal = answer.refusal;
        if (answer.served()) {
            result.explained = answer.explained;
        }
        cases.emplace_back(answer.which, result);
    }
    return cases;
}

// What the API would run of each problem; with --verbose all kernels below it.
void print_answers(const Options& options, const Device& device, std::span<const Group> groups) {
    const TextStyle style = stdout_style(options);
    const std::vector<ProblemAnswer> answers = answers_of(options, device);
    fmt::print("{}", answers.size() == 1 ? answer_text(answers.front(), device, style)
                                         : answers_table(answers, style));
    fmt::print("{}", layer_text(cases_of(answers), device, style));
    if (options.verbose) {
        print_all(options, device, groups);
    }
    if (options.explain) {
        fmt::print("{}", options.verbose ? explanations_of(groups, device, style)
                                         : explanations_of(answers, device, style));
    }
    if (!options.verbose) {
        fmt::print("\n{}\n", inked("-v shows all kernels, tiles and refusals.", Ink::hint, style));
    }
}

const Case* only_case(std::span<const Group> groups) {
    return groups.size() == 1 && groups.front().cases.size() == 1 && is_served(groups.front())
               ? &groups.front().cases.front()
               : nullptr;
}

// The kernels and tiles that were named: one alone with its reasons.
void print_named(const Options& options, const Device& device, std::span<const Group> groups) {
    const TextStyle style = stdout_style(options);
    const Case* only = options.verbose ? nullptr : only_case(groups);
    fmt::print("{}",
               only != nullptr
                   ? answer_text(answer_case(*only, device, calibration_of(options)), device, style)
                   : table_of(groups, options, device, style));
    if (options.explain) {
        fmt::print("{}", explanations_of(groups, device, style));
    }
}

// A chain in parts and fused; with --verbose all kernels of both below it.
void print_fusion(const Options& options, const Device& device, const Fusion& fusion,
                  std::span<const Group> groups) {
    fmt::print("{}", fusion_table(options, fusion, device, {}, stdout_style(options)));
    if (options.verbose) {
        print_all(options, device, groups);
    }
}

// Of options that a table of the API's choices cannot follow, the first that was given, or "".
std::string choice_of_user(const Options& options) {
    return !options.tile.empty() && !same_word(options.tile, "best") ? "--tile"
           : options.uncalibrated                                    ? "--uncalibrated"
           : options.explain                                         ? "--explain"
                                                                     : "";
}

int run_size_sweep(const Options& options, const Device& device) {
    require(options.shapes.size() == 1 && options.suite.empty() && options.fuse.empty(),
            Status::invalid_argument, "--over needs one --shape or --op, and no suite");
    require(!options.json && options.receipts.empty(), Status::invalid_argument,
            "--over prints a table: for rows name each size by --shape");
    const std::string other = options.verbose ? "-v" : choice_of_user(options);
    require(other.empty(), Status::invalid_argument,
            "--over prints one line a size: with {} name each size by --shape", other);
    const std::set<std::string> kernels(options.kernels.begin(), options.kernels.end());
    require(kernels.size() <= 1, Status::invalid_argument,
            "--over takes one --kernel, and {} were given", kernels.size());
    const DType dtype = options.dtype.empty() ? DType::bf16 : parse_dtype(options.dtype);
    const SizeSweep sweep = size_sweep(
        options.shapes.front(), dtype, parse_size_range(options.over), device,
        launch_case(options, device), options.kernels.empty() ? "" : options.kernels.front());
    fmt::print("{}", size_sweep_text(sweep, stdout_style(options)));
    if (!options.output.empty()) {
        draw(size_sweep_chart(sweep), options);
    }
    return exit_ok;
}

// What a picture shows: the kernels that were named, or what the API would run.
std::vector<ChartedPrediction> charted(const Options& options, const Device& device,
                                       std::span<const Group> groups, bool named) {
    std::vector<ProblemAnswer> answers;
    if (named) {
        for (const Group& group : groups) {
            for (std::size_t i = 0; i < group.cases.size(); ++i) {
                if (group.results[i].refusal.empty()) {
                    answers.push_back(answer_case(group.cases[i], device, calibration_of(options)));
                }
            }
        }
    } else {
        answers = answers_of(options, device);
    }
    std::vector<ChartedPrediction> predictions;
    for (const ProblemAnswer& answer : answers) {
        const Workload& problem = answer.which.workload;
        if (answer.served() && problem.flops() > 0) {
            predictions.push_back({format_shape(problem), std::string(answer.which.kernel->name),
                                   problem.flops(), answer.explained.prediction});
        }
    }
    require(!predictions.empty(), Status::invalid_argument,
            "-o: nothing to draw, since no kernel serves these problems with operations that a "
            "roofline counts");
    return predictions;
}

void put_all_rows(std::span<const Group> groups, const Options& options, const Device& device) {
    std::optional<ReceiptWriter> writer = named_receipts(options);
    RowSink sink = sink_of(options, writer ? &*writer : nullptr);
    if (std::ranges::any_of(groups, is_served)) {
        sink.describe(device);
    }
    for (const Group& group : groups) {
        put_rows(group, options, device, sink);
    }
}

}  // namespace

int run_predict(const Options& options) {
    require_picture_output(options);
    const Device device = select_device(options);
    if (!options.over.empty()) {
        return run_size_sweep(options, device);
    }
    std::optional<Fusion> fusion;
    if (!options.fuse.empty()) {
        fusion = fusion_of(options);
    }
    const bool named = !options.kernels.empty() || !options.tile.empty();
    const bool as_rows = options.json || !options.receipts.empty();
    if (fusion && !options.json) {
        const std::string other = options.kernels.empty() ? choice_of_user(options) : "--kernel";
        require(other.empty(), Status::invalid_argument,
                "--fuse prints what a call would run of each step: with {} name the steps by --op, "
                "or take rows by --json",
                other);
    }
    // What a text without them shows is worked out by itself.
    const std::vector<Case> cases =
        named || as_rows || options.verbose
            ? select_cases(fusion ? with_parts(options, *fusion) : options, device)
            : std::vector<Case>();
    const std::vector<Group> groups = groups_of(cases, device, calibration_of(options));
    if (as_rows) {
        put_all_rows(groups, options, device);
    }
    require(options.output.empty() || !(fusion || options.json), Status::invalid_argument,
            "-o draws neither --fuse nor --json: name the steps by --op");
    if (options.json) {
        return exit_ok;
    }
    if (fusion) {
        print_fusion(options, device, *fusion, groups);
    } else if (named) {
        print_named(options, device, groups);
    } else {
        print_answers(options, device, groups);
    }
    if (!options.output.empty()) {
        draw(levels_chart(device, charted(options, device, groups, named)), options);
    }
    return exit_ok;
}

}  // namespace raceline::cli
