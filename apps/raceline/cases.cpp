// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include "interruption.hpp"
#include "run/case_seconds.hpp"
#include "selection.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "terminal.hpp"
#include "timing/measurement.hpp"
#include "timing/pace.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {

std::optional<ReceiptWriter> named_receipts(const Options& options) {
    return options.receipts.empty() ? std::optional<ReceiptWriter>()
                                    : std::optional<ReceiptWriter>(std::in_place, options.receipts);
}

RowSink sink_of(const Options& options, ReceiptWriter* writer) {
    RowSink sink{.context = &options.context, .writer = writer, .emit = {}};
    sink.refusals = !options.kernels.empty();
    if (options.json) {
        sink.emit = print_row;
    }
    return sink;
}

namespace {

// "3 of 19 cases were measured, and are kept in run.jsonl"
std::string kept_sentence(const Run& run, int ran, std::size_t all) {
    if (ran == 0) {
        return fmt::format(
            "{} was {}: {}", all == 1 ? "no case" : "none of " + counted_text(all, "case"),
            run.done,
            run.file.empty() || run.passing ? "nothing was kept" : run.file + " has none of it");
    }
    return fmt::format(
        "{} of {} {} {}{}", ran, counted_text(all, "case"), ran == 1 ? "was" : "were", run.done,
        run.file.empty() ? "; no receipt file was named"
                         : fmt::format(", and {} kept in {}", ran == 1 ? "is" : "are", run.file));
}

// What is left of a run: how many cases, and how long they take.
class WorkLeft {
public:
    WorkLeft(const std::vector<Case>& cases, const Device& device)
        : seconds_(seconds_of_cases(cases, device)), pace_(seconds_), since_(monotonic_seconds()) {}
    /// Of those that the device runs.
    [[nodiscard]] std::size_t cases() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(seconds_, [](double seconds) { return seconds > 0; }));
    }
    void case_ended() {
        const double now = monotonic_seconds();
        pace_.took(now - since_);
        since_ = now;
    }
    [[nodiscard]] std::string text() const {
        const auto left = pace_.left();
        return left ? "about " + rough_duration(*left) + " left" : "";
    }

private:
    std::vector<double> seconds_;
    Pace pace_;
    double since_;
};

std::string name_of(const Case& one) {
    return fmt::format("{} {}", one.kernel->name, format_shape(one.workload));
}

}  // namespace

bool is_beside_the_point(const Case& one, const Options& options) {
    return options.kernels.empty() && !one.kernel->computes_other(one.workload).empty();
}

Outcome run_each(const std::vector<Case>& cases, const Options& options, const Device& device,
                 const Run& run) {
    CaseTable table(device);
    Outcome outcome;
    std::vector<std::string> again;
    WorkLeft left(cases, device);
    const std::size_t all = left.cases();
    if (all > 0 && !run.heading.empty()) {
        say("{}", run.heading);
    }
    const auto kept = [&] { return kept_sentence(run, outcome.ran, all); };
    Interruption interruption;
    {
        Progress progress(static_cast<int>(all));
        for (const Case& one : cases) {
            interruption.say_at_once("raceline: stopped at once: " + kept(),
                                     run.passing && outcome.ran == 0 ? run.file : "");
            progress.step(outcome.ran, name_of(one), left.text());
            const CaseResult result = run.one(one);
            left.case_ended();
            if (result.failed()) {
                ++outcome.failed;
                again.push_back(command_of(one, device));
            }
            outcome.ran += result.correctness ? 1 : 0;
            if (!is_beside_the_point(one, options)) {
                table.add(one, result);
            }
            if (interruption.signal() != 0) {
                break;
            }
        }
    }
    outcome.refusal = table.only_refusal();
    if (!options.json && outcome.refusal.empty()) {
        fmt::print("{}", table.str(run.columns, stdout_style(options)));
    }
    say_again(again);
    outcome.stopped = interruption.exit_code();
    if (outcome.stopped != 0) {
        say("stopped by {}: {}", interruption.name(), kept());
    }
    return outcome;
}

int exit_of(const Outcome& outcome) {
    if (outcome.stopped != 0) {
        return outcome.stopped;
    }
    require(outcome.ran > 0, Status::unsupported, "no kernel ran: {}",
            outcome.refusal.empty() ? "none of those asked for supports any of the shapes"
                                    : outcome.refusal);
    return outcome.failed == 0 ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
