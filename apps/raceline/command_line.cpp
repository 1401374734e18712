// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <limits>
#include <sstream>

#include "support/build_info.hpp"
#include "support/nearest.hpp"
#include "usage.hpp"
#include "workload/suites.hpp"

namespace raceline::cli {
namespace {

constexpr const char* shape_help =
    "one problem, as in b=1,h=32/8,q=1,k=8192,d=128,dtype=bf16,causal; repeatable";

void add_threads(CLI::App& command, Options& o) {
    add_whole(command, "--threads",
              "CPU threads, at most this machine's logical CPUs (default: one a core)", 1, 4096,
              [&o](std::uint64_t count) { o.threads = static_cast<int>(count); });
}

void add_seed(CLI::App& command, Options& o) {
    add_whole(command, "--seed", "of the inputs (default: a fresh one, which every row names)", 0,
              std::numeric_limits<std::uint64_t>::max(),
              [&o](std::uint64_t seed) { o.seed = seed; });
}

// --op NAME,fields is --shape op=NAME,fields.
void add_operations(CLI::App& command, Options& o) {
    command
        .add_option_function<std::vector<std::string>>(
            "--op",
            [&o](const std::vector<std::string>& operations) {
                for (const std::string& operation : operations) {
                    o.shapes.push_back("op=" + operation);
                }
            },
            "an operation beside attention and its sizes, as in rmsnorm,n=8192x4096,dtype=bf16; "
            "repeatable (docs/operations.md lists them)")
        ->allow_extra_args(false);
}

void add_fusion(CLI::App& command, Options& o, const char* what) {
    command.add_option("--fuse", o.fuse, what);
}

void add_cases(CLI::App& command, Options& o, std::string_view tile) {
    command.add_option("--suite", o.suite,
                       "named shapes, one of the suites listed below (default: quickstart)");
    command.add_option("--shape", o.shapes, shape_help)->allow_extra_args(false);
    add_operations(command, o);
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

// Above a command's examples: the suites in groups, one a line.
std::string suites_help() {
    return fmt::format(
        "Suites:\n"
        "  benchmarks            {} random:SEED serving:SEED operations:SEED\n"
        "  a decoder layer       layer:MODEL:prefill=TOKENS layer:MODEL:decode=SEQUENCESxKEYS\n"
        "  measured by tools/    {}\n"
        "  checked by tools/     {}\n"
        "  NAME:128              the part of one of these with head dims over 64, up to 128\n"
        "docs/shapes.md says what is in each.\n\n",
        fmt::join(suite_names(SuiteGroup::benchmark), " "),
        fmt::join(suite_names(SuiteGroup::measurement), " "),
        fmt::join(suite_names(SuiteGroup::check), " "));
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
    kernels
        ->add_option("--diff", o.diff,
                     "two rungs of the ladder: what the second one changes of the first")
        ->expected(2);
    kernels->footer(
        "Examples:\n  raceline kernels\n  raceline kernels --json\n"
        "  raceline kernels --diff gqa gqa_ilp");
    commands.push_back({kernels, run_kernels});

    auto* measure = app.add_subcommand(
        "measure", "Probe this machine's ceilings and keep them in the user's cache");
    add_json(*measure, o);
    add_device(*measure, o, "cuda or cpu (default: cuda if live, else cpu)");
    auto* if_missing =
        measure->add_flag("--if-missing", o.if_missing, "do nothing if this machine has ceilings");
    add_threads(*measure, o);
    measure
        ->add_flag("--power", o.power,
                   "GPU: instead of ceilings, the joules that each resource takes, into --receipts "
                   "(a minute at the board's full power)")
        ->excludes(if_missing)
        ->excludes("--threads");
    add_receipts(*measure, o, "also append the ceilings to this receipt file");
    measure->footer("Examples:\n  raceline measure --if-missing --device cpu");
    commands.push_back({measure, run_measure});
}

// A command that runs cases on a live device. `tiles`: which of them, unless the user says so.
CLI::App* add_running(CLI::App& app, Options& o, const char* name, const char* what,
                      const char* tiles) {
    auto* command = app.add_subcommand(name, what);
    add_cases(*command, o, tiles);
    add_device(*command, o, live_help);
    add_seed(*command, o);
    return command;
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
    add_fusion(*predict, o,
               "a chain of operations and its sizes, as in add+rmsnorm,n=8192x4096: bytes, "
               "intensity and time in parts and fused");
    predict->add_option("--over", o.over,
                        "a size that varies, as in m=1:4096: how the limiter of one shape changes");
    predict->footer(
        suites_help() +
        "Examples:\n"
        "  raceline predict --device h200 --explain --shape h=16,q=4096,k=4096,d=128,dtype=bf16\n"
        "  raceline predict --device h200 --shape b=64,h=32/8,q=1,k=8192,d=128\n"
        "  raceline predict --device cpu --suite quickstart");
    commands.push_back({predict, run_predict});

    auto* check = add_running(app, o, "check", "The float64 gate; nothing is timed", "all");
    add_receipts(*check, o, "append check rows to this file (default: none is written)");
    add_json(*check, o);
    check->footer(
        suites_help() +
        "Examples:\n"
        "  raceline check --device cpu --shape b=1,h=4/2,q=33,k=65,d=64,causal\n"
        "  raceline check --device cpu --kernel cpu_flash --shape b=2,h=2,q=1,k=300,d=64,page=16");
    commands.push_back({check, run_check});

    auto* bench =
        add_running(app, o, "bench", "Predict, prove, measure; both halves in a receipt", "best");
    bench->add_option("--regime", o.regime,
                      "GPU: sustained (default: call upon call) or alone (rests between samples)");
    add_seconds(*bench, "--max-seconds", "timed work per case before giving up noise", 0.001, 3600,
                o.max_seconds);
    add_fusion(*bench, o, "a chain of operations and its sizes: its parts and the fused chain");
    add_receipts(*bench, o, "receipt file (default: a new one in the user's state folder)");
    add_json(*bench, o);
    bench->footer(suites_help() +
                  "Examples:\n"
                  "  raceline bench --device cpu --shape b=1,h=2,q=128,k=128,d=64,dtype=fp32\n"
                  "  raceline bench --suite quickstart");
    commands.push_back({bench, run_bench});
}

void add_report_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* report = app.add_subcommand("report", "Tables from receipts; --check verifies them");
    report->add_option(
        "files", o.files,
        "receipt files, plain or gzip-compressed (default: the newest of this user)");
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
    report
        ->add_option("--html", o.html,
                     "one page to explore, written into this file, which opens without a network: "
                     "roofline, cases, scorecard, ladder, peers, ceilings, every row, and two "
                     "files beside each other (none: receipts/ and its index, in a source tree's "
                     "root)")
        ->excludes(verify)
        ->excludes(repredict)
        ->excludes(ladder)
        ->excludes(scorecard);
    add_json(*report, o);
    report->footer(
        "Examples:\n  raceline report --help\n  raceline report --check FILE.jsonl\n"
        "  raceline report --repredict FILE.jsonl\n"
        "  raceline report --scorecard FILE.jsonl\n  raceline report --ladder\n"
        "  raceline report --html page.html FILE.jsonl\n"
        "  raceline report --docs --check README.md");
    commands.push_back({report, run_report});
}

void add_amount(CLI::App& command, const char* name, double& into, const char* help) {
    command.add_option(name, into, help)->check(CLI::NonNegativeNumber);
}

void add_output(CLI::App& command, Options& o) {
    auto* output =
        command.add_option("-o,--output", o.output, "a file whose name ends in .svg, .png or .pdf");
    command
        .add_flag("--keep-script", o.keep_script,
                  "leave gnuplot's script, which holds the data, beside it: FILE.gp")
        ->needs(output);
}

void add_point_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* point = app.add_subcommand(
        "point", "A kernel of your own on a roofline: limiter, percent of roof, what would help");
    point->add_option("file", o.files,
                      "CSV with a line of column names, or JSON, of many points: name, flops, "
                      "bytes, seconds, engine, memory");
    point->add_option("--name", o.name, "of the point, in tables and pictures");
    add_amount(*point, "--flops", o.point.flops, "operations; a multiply-add counts as two");
    add_amount(*point, "--bytes", o.point.bytes, "read and written");
    add_amount(*point, "--seconds", o.point.seconds, "what it took (default: not measured)");
    point->add_option("--engine", o.point.engine,
                      "what the operations run on: a rate of the device (wgmma.bf16, fma.fp32, "
                      "op.ex2), or a type (bf16): its fastest engine");
    point->add_option("--memory", o.point.memory,
                      "where the bytes are counted: dram (default, at the read ceiling), or a rate "
                      "of the device (dram_copy, l2, smem_lsu, llc)");
    add_device(*point, o, "any name in `raceline devices` (default: cuda if live, else cpu)");
    point->add_option("--rates", o.rates, "ceilings from this file instead of the measured ones");
    point->add_flag("--json", o.json, "one object a point on stdout, one a line, and nothing else");
    add_output(*point, o);
    point->footer(
        "Examples:\n"
        "  raceline point --flops 1.4e11 --bytes 1e8 --seconds 250e-6 --engine bf16 --device h200\n"
        "  raceline point --bytes 6.7e7 --seconds 30e-6 --memory dram_copy --device h200");
    commands.push_back({point, run_point});
}

void add_plot_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* plot = app.add_subcommand("plot", "Receipts as a picture, drawn by gnuplot");
    plot->add_option("picture", o.picture,
                     "roofline, trajectory, scorecard, ladder, compare or sweep; docs/pictures.md "
                     "shows each");
    plot->add_option("files", o.files,
                     "receipt files, plain or gzip-compressed (default: the newest of this user; "
                     "of a scorecard receipts/ "
                     "and its index)");
    add_output(*plot, o);
    plot->add_option("--track", o.track,
                     "trajectory, ladder: prefill (default), decode or from-scratch");
    plot->add_option("--shape", o.shapes, "trajectory, ladder: the case that is shown")
        ->allow_extra_args(false);
    plot->add_option(
        "--over", o.over,
        "sweep: the field that varies, as seqlen_k, batch or length (default: the one over "
        "which most cases line up)");
    plot->footer(
        "Without -o the picture is drawn in the terminal.\n\n"
        "Examples:\n  raceline plot roofline FILE.jsonl\n"
        "  raceline plot roofline FILE.jsonl -o roofline.svg\n"
        "  raceline plot scorecard FILE.jsonl -o scorecard.png --keep-script");
    commands.push_back({plot, run_plot});
}

void add_diff_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* diff = app.add_subcommand(
        "diff", "Two receipt files or commits, case by case: faster, slower, mispredicted");
    diff->add_option("sides", o.files,
                     "what was before and what came after: a receipt file, plain or "
                     "gzip-compressed, or a commit whose rows "
                     "are in receipts/");
    add_output(*diff, o);
    diff->footer("Examples:\n  raceline diff FILE.jsonl FILE.jsonl");
    commands.push_back({diff, run_diff});
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
        return fmt::format("raceline: no command; there are {} (`raceline --help`)", list);
    }
    const std::string_view meant = nearest(word, names);
    return fmt::format("raceline: command '{}' does not exist{}; there are {}", word,
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
    add_point_command(app, options, commands);
    add_plot_command(app, options, commands);
    add_diff_command(app, options, commands);
    for (const Command& command : commands) {
        refuse_empty_values(*command.app);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::RequiredError&) {
        line.exit = exit_usage;
        line.err = missing_command(argc, argv, commands);
        return line;
    } catch (const CLI::ParseError& error) {
        std::ostringstream help;
        line.exit = app.exit(error, help, help) == 0 ? exit_ok : exit_usage;
        (line.exit == exit_ok ? line.out : line.err) =
            line.exit == exit_ok ? help.str() : usage_sentence(app, error);
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
