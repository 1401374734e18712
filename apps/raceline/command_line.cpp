// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <sstream>

#include "support/build_info.hpp"
#include "support/nearest.hpp"

namespace raceline::cli {
namespace {

constexpr const char* shape_help =
    "one problem, as in b=1,h=32/8,q=1,k=8192,d=128,dtype=bf16,causal; repeatable";

// A minus is what CLI11 reads into unsigned numbers without a word.
std::string whole_number(const std::string& text) {
    return text.starts_with('-') ? text + " is not a whole number from 0 on" : std::string();
}

void add_threads(CLI::App& command, Options& o) {
    command
        .add_option("--threads", o.threads,
                    "CPU threads, at most this machine's logical CPUs (default: one a core)")
        ->check(CLI::Range(1, 4096));
}

void add_cases(CLI::App& command, Options& o, std::string_view tile) {
    command.add_option("--suite", o.suite,
                       "named shapes: quickstart ladder from-scratch ladder-splits ladder-gap "
                       "training-16k llama3-8b llama3-70b deepseek-v3 gpt-oss random:SEED "
                       "(default: quickstart)");
    command.add_option("--shape", o.shapes, shape_help)->allow_extra_args(false);
    command.add_option("--kernel", o.kernels, "a kernel's name; repeatable (default: all)")
        ->allow_extra_args(false);
    command.add_option(
        "--tile", o.tile,
        fmt::format("best (the model's choice), all, or fields: m=128,n=64 (default: {})", tile));
    command.add_option("--dtype", o.dtype, "fp32, fp16, bf16 or e4m3 for every shape of a suite");
    add_threads(command, o);
    command.add_option("--launch-path", o.launch_path, "GPU: graph (default) or stream");
    command.add_flag("--warm", o.warm, "same inputs again and again instead of cold caches");
    command.add_option("--rates", o.rates, "ceilings from this file instead of the measured ones");
}

void add_device(CLI::App& command, Options& o, const char* help) {
    command.add_option("--device", o.device, help);
}

void add_json(CLI::App& command, Options& o) {
    command.add_flag("--json", o.json, "receipt rows on stdout, one a line, and nothing else");
}

void add_receipts(CLI::App& command, Options& o, const char* help) {
    command.add_option("--receipts", o.receipts, help);
}

struct Command {
    CLI::App* app;
    int (*run)(const Options&);
};

constexpr const char* live_help =
    "cuda, cpu, a name in `raceline devices` that is live, or replay:FILE (default: cuda if live, "
    "else cpu)";

void add_listing_commands(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* devices = app.add_subcommand("devices", "Devices that the model knows; live ones marked");
    add_json(*devices, o);
    add_device(*devices, o, "only this one, with every rate and its source");
    devices->add_option("--rates", o.rates, "ceilings from this file");
    devices->footer("Examples:\n  raceline devices\n  raceline devices --device h200");
    commands.push_back({devices, run_devices});

    auto* kernels = app.add_subcommand("kernels", "Kernels of this build, their tiles and rungs");
    add_json(*kernels, o);
    kernels->footer("Examples:\n  raceline kernels\n  raceline kernels --json");
    commands.push_back({kernels, run_kernels});

    auto* measure = app.add_subcommand(
        "measure", "Probe this machine's ceilings and keep them in the user's cache");
    add_json(*measure, o);
    add_device(*measure, o, "cuda or cpu (default: cuda if live, else cpu)");
    measure->add_flag("--if-missing", o.if_missing, "do nothing if this machine has ceilings");
    add_threads(*measure, o);
    add_receipts(*measure, o, "also append the ceilings to this receipt file");
    measure->footer("Examples:\n  raceline measure --if-missing --device cpu");
    commands.push_back({measure, run_measure});
}

void add_case_commands(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* predict = app.add_subcommand("predict", "Limiter and time, before anything runs");
    add_cases(*predict, o, "best");
    add_device(*predict, o, "any name in `raceline devices` (default: cuda if live, else cpu)");
    add_receipts(*predict, o, "append prediction rows to this file (default: none is written)");
    add_json(*predict, o);
    predict->add_flag("--explain", o.explain,
                      "under each case its terms and the constants it rests on, with their origin");
    predict->add_flag(
        "--uncalibrated", o.uncalibrated,
        "what a probe, a manual or the code says instead of each constant that was "
        "fitted to the kernel, also where the best tile is chosen; no committed errors "
        "are taken out");
    predict->footer(
        "Examples:\n"
        "  raceline predict --device h200 --explain --shape h=16,q=4096,k=4096,d=128,dtype=bf16\n"
        "  raceline predict --device h200 --shape b=64,h=32/8,q=1,k=8192,d=128\n"
        "  raceline predict --device cpu --suite quickstart");
    commands.push_back({predict, run_predict});

    auto* check = app.add_subcommand("check", "The float64 gate; nothing is timed");
    add_cases(*check, o, "all");
    add_device(*check, o, live_help);
    check
        ->add_option("--seed", o.seed,
                     "of the inputs (default: a fresh one, which every row names)")
        ->check(whole_number);
    add_receipts(*check, o, "append check rows to this file (default: none is written)");
    add_json(*check, o);
    check->footer(
        "Examples:\n"
        "  raceline check --device cpu --shape b=1,h=4/2,q=33,k=65,d=64,causal\n"
        "  raceline check --device cpu --kernel cpu_flash --shape b=2,h=2,q=1,k=300,d=64,page=16");
    commands.push_back({check, run_check});

    auto* bench = app.add_subcommand("bench", "Predict, prove, measure; both halves in a receipt");
    add_cases(*bench, o, "best");
    add_device(*bench, o, live_help);
    bench
        ->add_option("--seed", o.seed,
                     "of the inputs (default: a fresh one, which every row names)")
        ->check(whole_number);
    bench->add_option("--regime", o.regime,
                      "GPU: sustained (default: call upon call) or alone (rests between samples)");
    bench->add_option("--max-seconds", o.max_seconds, "timed work per case before giving up noise")
        ->check(CLI::Range(0.001, 3600.0));
    add_receipts(*bench, o, "receipt file (default: a new one in the user's state folder)");
    add_json(*bench, o);
    bench->footer(
        "Examples:\n"
        "  raceline bench --device cpu --shape b=1,h=2,q=128,k=128,d=64,dtype=fp32\n"
        "  raceline bench --suite quickstart");
    commands.push_back({bench, run_bench});
}

void add_report_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* report = app.add_subcommand("report", "Tables from receipts; --check verifies them");
    report->add_option("files", o.files, "receipt files (default: the newest of this user)");
    auto* verify = report->add_flag(
        "--check", o.check,
        "verify rows, manifest, index and history (docs/receipts.md); exit 1 if broken");
    auto* repredict = report->add_flag(
        "--repredict", o.repredict,
        "compute the predictions of the files again, bit for bit; exit 1 if one differs");
    report
        ->add_option("--commit", o.commit,
                     "with --repredict: those that the program of this commit made, which is built "
                     "in the user's cache")
        ->needs(repredict);
    auto* ladder = report->add_flag(
        "--ladder", o.ladder,
        "docs/ladder.md from these receipts, receipts/index.jsonl among them (none: the "
        "rungs are listed as not run)");
    repredict->excludes(verify)->excludes(ladder);
    report->add_flag("--docs", o.docs,
                     "the files are pages: write their generated parts from the receipts that "
                     "docs/evidence.json names; with --check exit 1 where they differ");
    auto* scorecard = report->add_flag(
        "--scorecard", o.scorecard,
        "errors of predictions per kernel, device, regime and class (kernel never measured, case "
        "never measured, seen), beside rooflines; rows are judged by all committed receipts, "
        "whichever files are named (none: receipts/ and its index, in a source tree's root)");
    report->add_flag("--markdown", o.markdown, "the scorecard as tables of a page")
        ->needs(scorecard);
    add_json(*report, o);
    report->footer(
        "Examples:\n  raceline report --help\n  raceline report --check FILE.jsonl\n"
        "  raceline report --repredict FILE.jsonl\n"
        "  raceline report --scorecard FILE.jsonl\n  raceline report --ladder\n"
        "  raceline report --docs --check README.md");
    commands.push_back({report, run_report});
}

// CLI11 says the same whether there was no command or a wrong one.
std::string missing_command(int argc, const char* const* argv,
                            const std::vector<Command>& commands) {
    std::vector<std::string_view> names;
    names.reserve(commands.size());
    for (const Command& command : commands) {
        names.push_back(command.app->get_name());
    }
    const std::string list = fmt::format("{}", fmt::join(names, ", "));
    const std::string word = argc > 1 ? argv[1] : "";
    if (word.empty() || word.front() == '-') {
        return fmt::format("raceline: no command; there are {} (`raceline --help`)\n", list);
    }
    const std::string_view meant = nearest(word, names);
    return fmt::format("raceline: command '{}' does not exist{}; there are {}\n", word,
                       meant.empty() ? "" : fmt::format(": did you mean '{}'?", meant), list);
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
    CommandLine line;
    Options& options = line.options;
    CLI::App app(
        "raceline: attention kernels that know their own speed limit, and the instrument "
        "that proves it");
    app.set_version_flag("--version", "raceline " + std::string(build_info::version()));
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 fine, 1 a check failed, 2 wrong usage or input, 3 no such device.\n"
        "Examples:\n  raceline devices\n  raceline bench --suite quickstart");
    std::vector<Command> commands;
    add_listing_commands(app, options, commands);
    add_case_commands(app, options, commands);
    add_report_command(app, options, commands);
    try {
        app.parse(argc, argv);
    } catch (const CLI::RequiredError&) {
        line.exit = exit_usage;
        line.err = missing_command(argc, argv, commands);
        return line;
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        line.exit = app.exit(error, out, err) == 0 ? exit_ok : exit_usage;
        line.out = out.str();
        line.err = err.str();
        return line;
    }
    for (const Command& command : commands) {
        if (command.app->parsed()) {
            line.run = command.run;
        }
    }
    return line;
}

}  // namespace raceline::cli
