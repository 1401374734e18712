// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <cmath>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

#include "completion.hpp"
#include "help.hpp"
#include "point_file.hpp"
#include "support/nearest.hpp"
#include "usage.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {
namespace {

void add_threads(CLI::App& command, Options& o) {
    add_whole(command, "--threads",
              "CPU threads, at most this machine's logical CPUs (default: one per core)", 1, 4096,
              [&o](std::uint64_t count) { o.threads = static_cast<int>(count); });
}

void add_seed(CLI::App& command, Options& o) {
    add_whole(command, "--seed", "seed of the inputs (default: a new one, which every row records)",
              0, std::numeric_limits<std::uint64_t>::max(),
              [&o](std::uint64_t seed) { o.seed = seed; });
}

void add_rates(CLI::App& command, Options& o) {
    command.add_option("--rates", o.rates, "ceilings from this file instead of the measured ones")
        ->type_name("FILE");
}

// --op NAME,fields is --shape op=NAME,fields.
void add_operations(CLI::App& command, Options& o) {
    command
        .add_option_function<std::vector<std::string>>(
            "--op",
            [&o](const std::vector<std::string>& operations) {
                for (const std::string& operation : operations) {
                    o.shapes.push_back(operation_shape(operation));
                }
            },
            "another operation than attention, with its sizes, as in "
            "rmsnorm,n=8192x4096,dtype=bf16; "
            "repeatable (docs/operations.md lists them)")
        ->allow_extra_args(false)
        ->type_name("OPERATION");
}

void add_fusion(CLI::App& command, Options& o, const char* what) {
    command.add_option("--fuse", o.fuse, what)->type_name("CHAIN");
}

void add_cases(CLI::App& command, Options& o, std::string_view tile) {
    command
        .add_option("--suite", o.suite,
                    "named shapes, one of the suites listed below (default: quickstart)")
        ->type_name("SUITE");
    command
        .add_option("--shape", o.shapes,
                    "one problem, written with the fields listed below, as in "
                    "b=1,h=32/8,q=1,k=8192,d=128,dtype=bf16,causal; repeatable")
        ->allow_extra_args(false)
        ->type_name("SHAPE");
    add_operations(command, o);
    command.add_option("--kernel", o.kernels, "a kernel's name; repeatable (default: all)")
        ->allow_extra_args(false)
        ->type_name("KERNEL");
    command
        .add_option("--tile", o.tile,
                    fmt::format("best (the model's choice), all, or fields: rows=128,keys=64 "
                                "(default: {})",
                                tile))
        ->type_name("TILE");
    command
        .add_option("--dtype", o.dtype,
                    fmt::format("type for all shapes of a suite, and for shapes without one: {}",
                                fmt::join(names_of_dtypes(), ", ")))
        ->type_name("DTYPE");
    add_threads(command, o);
    command.add_option("--launch-path", o.launch_path, "GPU: graph (default) or stream")
        ->type_name("graph|stream");
    command.add_flag("--warm", o.warm,
                     "reuse the same inputs, instead of starting with cold caches");
    add_rates(command, o);
}

void add_device(CLI::App& command, Options& o, const char* help) {
    command.add_option("--device", o.device, help)->type_name("DEVICE");
}

// Of commands that print tables.
void add_layout(CLI::App& command, Options& o) {
    command.add_flag("--wide", o.wide,
                     "tables with all their columns, however narrow the terminal is (its width: "
                     "COLUMNS, else what it says, else 100)");
    add_word(command, "--color", {"auto", "always", "never"},
             "auto (default) is always in a terminal, unless NO_COLOR is set or TERM is dumb",
             o.color);
}

void add_json(CLI::App& command, Options& o) {
    command.add_flag("--json", o.json, "receipt rows on stdout, one per line, and nothing else");
}

void add_receipts(CLI::App& command, Options& o, const char* help) {
    command.add_option("--receipts", o.receipts, help)->type_name("FILE");
}

// Of commands that make rows: where they go.
void add_rows(CLI::App& command, Options& o, const char* receipts) {
    add_receipts(command, o, receipts);
    add_json(command, o);
}

// A command that has all its options; its help ends with `footer`.
void add(std::vector<Command>& commands, CLI::App& command, int (*run)(const Options&),
         std::string footer) {
    command.footer(std::move(footer));
    commands.push_back({&command, run});
}

constexpr const char* live_help =
    "cuda, cpu, a name in `raceline devices` that is live, or replay:FILE (default: cuda if live, "
    "else cpu)";

void add_listing_commands(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* devices = app.add_subcommand("devices", "Devices that the model knows; live ones marked");
    add_json(*devices, o);
    add_device(*devices, o, "only this one, with every rate and its source");
    add_rates(*devices, o);
    add_layout(*devices, o);
    add(commands, *devices, run_devices,
        "Examples:\n  raceline devices\n  raceline devices --device h200");

    auto* kernels = app.add_subcommand("kernels", "Kernels of this build, their tiles and rungs");
    add_json(*kernels, o);
    kernels
        ->add_option("--diff", o.diff,
                     "two rungs of the ladder: shows what changes from the first to the second")
        ->expected(2)
        ->excludes("--json")
        ->type_name("RUNG");
    add_layout(*kernels, o);
    add(commands, *kernels, run_kernels,
        "Examples:\n  raceline kernels\n  raceline kernels --json\n"
        "  raceline kernels --diff gqa gqa_ilp");

    auto* measure = app.add_subcommand(
        "measure", "Measure this machine's highest rates and keep them in the user's cache");
    add_json(*measure, o);
    add_device(*measure, o, "cuda or cpu (default: cuda if live, else cpu)");
    auto* if_missing =
        measure->add_flag("--if-missing", o.if_missing, "do nothing if this machine has ceilings");
    add_threads(*measure, o);
    measure
        ->add_flag(
            "--power", o.power,
            "GPU: instead of ceilings, measure the energy that each resource takes, and write "
            "it to --receipts (a minute at the board's full power)")
        ->excludes(if_missing)
        ->excludes("--threads");
    add_receipts(*measure, o, "also append the ceilings to this receipt file");
    add_layout(*measure, o);
    add(commands, *measure, run_measure, "Examples:\n  raceline measure --if-missing --device cpu");
}

void add_output(CLI::App& command, Options& o,
                const std::string& what = "a file whose name ends in .svg, .png or .pdf") {
    auto* output = command.add_option("-o,--output", o.output, what)->type_name("FILE");
    command
        .add_flag("--keep-script", o.keep_script,
                  "also write gnuplot's script with the data, as FILE.gp")
        ->needs(output);
}

// A command that runs cases on a live device. `tiles`: which of them, unless the user says so.
CLI::App* add_running(CLI::App& app, Options& o, const char* name, const char* what,
                      const char* tiles) {
    auto* command = app.add_subcommand(name, what);
    add_cases(*command, o, tiles);
    add_device(*command, o, live_help);
    add_seed(*command, o);
    add_layout(*command, o);
    return command;
}

void add_case_commands(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* predict = app.add_subcommand("predict", "Limiter and time, before anything runs");
    add_cases(*predict, o, "best");
    add_device(*predict, o, "any name in `raceline devices` (default: cuda if live, else cpu)");
    add_rows(*predict, o, "append prediction rows to this file (default: none is written)");
    predict->add_flag("-v,--verbose", o.verbose,
                      "below what the API would run, also show all kernels, their tiles, and why "
                      "some cannot run the problem");
    predict->add_flag("--explain", o.explain,
                      "under each case, show its terms and the constants used, with their sources");
    predict->add_flag(
        "--uncalibrated", o.uncalibrated,
        "replace each constant that was fitted to the kernel by what a probe, a manual or the "
        "code says, also when --kernel, -v and --json choose the best tile; do not correct for "
        "committed errors");
    add_fusion(*predict, o,
               "a chain of operations and its sizes, as in add+rmsnorm,n=8192x4096: shows bytes, "
               "intensity and time of the parts and of the fused chain");
    predict
        ->add_option(
            "--over", o.over,
            "vary a size of one shape, as in m=1:4096, to see how the limiter changes; of n=RxW "
            "rows=1:4096 or width=1:4096")
        ->type_name("RANGE");
    add_output(*predict, o,
               "also as a picture, .svg, .png or .pdf: kernels under the roofs of all levels of "
               "memory, or time over the range of --over");
    add_layout(*predict, o);
    add(commands, *predict, run_predict,
        shapes_and_suites_help() +
            "Examples:\n"
            "  raceline predict --device h200 --shape b=64,h=32/8,q=1,k=8192,d=128\n"
            "  raceline predict --device h200 -v --shape h=16,q=4096,k=4096,d=128,dtype=bf16\n"
            "  raceline predict --device h200 --explain --shape h=16,q=4096,k=4096,d=128\n"
            "  raceline predict --device h200 --fuse add+rmsnorm,n=8192x4096\n"
            "  raceline predict --device h200 --op linear,n=4096,k=4096 --over m=1:4096 -o "
            "batch.svg\n"
            "  raceline predict --device cpu --suite quickstart");

    auto* check =
        add_running(app, o, "check", "Check kernels against float64; nothing is timed", "all");
    add_rows(*check, o, "append check rows to this file (default: none is written)");
    add(commands, *check, run_check,
        shapes_and_suites_help() +
            "Examples:\n"
            "  raceline check --device cpu --shape b=1,h=4/2,q=33,k=65,d=64,causal\n"
            "  raceline check --kernel cpu_flash --shape b=2,h=2,q=1,k=300,d=64,page=16");

    auto* bench = add_running(
        app, o, "bench",
        "Predict, check, measure, and write prediction and measurement to a receipt", "best");
    bench
        ->add_option("--regime", o.regime,
                     "GPU: sustained (default: without a pause) or alone (rests between samples)")
        ->type_name("sustained|alone");
    add_seconds(*bench, "--max-seconds", "timed work per case, at most, however noisy it is", 0.001,
                3600, o.max_seconds);
    add_fusion(*bench, o,
               "a chain of operations and its sizes: runs its parts and the fused chain");
    add_rows(*bench, o, "receipt file (default: a new one in the user's state folder)");
    add(commands, *bench, run_bench,
        shapes_and_suites_help() +
            "Examples:\n"
            "  raceline bench --device cpu --shape b=1,h=2,q=128,k=128,d=64,dtype=fp32\n"
            "  raceline bench --suite quickstart");
}

void add_report_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* report = app.add_subcommand("report", "Tables from receipts; --check verifies them");
    report
        ->add_option("files", o.files,
                     "receipt files, plain or gzip-compressed (default: the newest of this user)")
        ->type_name("FILE");
    report->add_flag("--json", o.json,
                     "receipt rows on stdout, one per line, and nothing else; with --scorecard one "
                     "object without a kind, which is no row");
    auto* verify = report->add_flag(
        "--check", o.check,
        "verify rows, manifest, index and history (docs/receipts.md); exit 1 if broken");
    auto* repredict = report->add_flag(
        "--repredict", o.repredict,
        "recompute the predictions of the files, bit for bit; exit 1 if one differs");
    report
        ->add_option(
            "--commit", o.commit,
            "with --repredict: use the program of this commit, which is built in the user's "
            "cache")
        ->type_name("COMMIT")
        ->needs(repredict);
    auto* ladder = report->add_flag(
        "--ladder", o.ladder,
        "docs/ladder.md from these receipts, receipts/index.jsonl among them (none: the "
        "rungs are listed as not run)");
    repredict->excludes(verify)->excludes(ladder)->excludes("--json");
    ladder->excludes("--json");
    report->add_flag("--docs", o.docs,
                     "the files are pages: write their generated parts from the receipts that "
                     "docs/evidence.json names; with --check exit 1 where they differ");
    auto* scorecard = report->add_flag(
        "--scorecard", o.scorecard,
        "errors of predictions per kernel, device, regime and class (kernel never measured, case "
        "never measured, seen), beside rooflines. Rows are judged by all committed receipts, "
        "whichever files are named (none: receipts/ and its index, in a source tree's root)");
    report->add_flag("--markdown", o.markdown, "print the scorecard as Markdown tables")
        ->needs(scorecard);
    report
        ->add_option("--html", o.html,
                     "write an interactive page to this file; it needs no network. "
                     "Roofline, cases, scorecard, ladder, peers, ceilings, every row, and two "
                     "files beside each other (none: receipts/ and its index, in a source tree's "
                     "root)")
        ->type_name("FILE")
        ->excludes(verify)
        ->excludes(repredict)
        ->excludes(ladder)
        ->excludes(scorecard);
    add_layout(*report, o);
    add(commands, *report, run_report,
        "Examples:\n  raceline report --help\n  raceline report --check FILE.jsonl\n"
        "  raceline report --repredict FILE.jsonl\n"
        "  raceline report --scorecard FILE.jsonl\n  raceline report --ladder\n"
        "  raceline report --html page.html FILE.jsonl\n"
        "  raceline report --docs --check README.md");
}

void add_amount(CLI::App& command, const char* name, double& into, const char* help) {
    const CLI::Validator amount(
        [member = std::string_view(name).substr(2)](const std::string& text) {
            double value = 0;
            const bool number = CLI::detail::lexical_cast(text, value);
            const std::string fault = amount_fault(member, number ? value : NAN);
            return fault.empty() ? fault : fmt::format("'{}' {}", text, fault);
        },
        "");  // help has a description behind the type
    command.add_option(name, into, help)->check(amount)->type_name("NUMBER");
}

void add_point_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* point = app.add_subcommand(
        "point", "A kernel of your own on a roofline: limiter, percent of roof, what would help");
    point
        ->add_option("file", o.files,
                     "CSV with a line of column names, or JSON, of many points: name, flops, "
                     "bytes, seconds, engine, memory")
        ->type_name("FILE");
    point->add_option("--name", o.name, "name of the point in tables and pictures")
        ->type_name("NAME");
    add_amount(*point, "--flops", o.point.flops,
               "number of operations; a multiply-add counts as two");
    add_amount(*point, "--bytes", o.point.bytes, "bytes read and written");
    add_amount(*point, "--seconds", o.point.seconds, "measured time (default: not measured)");
    point
        ->add_option("--engine", o.point.engine,
                     "what the operations run on: a rate of the device (wgmma.bf16, fma.fp32, "
                     "op.ex2), or a type (bf16): its fastest engine")
        ->type_name("ENGINE");
    point
        ->add_option("--memory", o.point.memory,
                     "where the bytes are counted: dram (default, at the read ceiling), or a rate "
                     "of the device (dram_copy, l2, smem_lsu, llc)")
        ->type_name("MEMORY");
    add_device(*point, o, "any name in `raceline devices` (default: cuda if live, else cpu)");
    add_rates(*point, o);
    point->add_flag("--json", o.json,
                    "one object per point on stdout, one per line, and nothing else");
    add_output(*point, o);
    add_layout(*point, o);
    add(commands, *point, run_point,
        "Examples:\n"
        "  raceline point --flops 1e11 --bytes 1e8 --engine bf16 --device h200\n"
        "  raceline point --bytes 7e7 --seconds 3e-5 --memory dram_copy --device h200");
}

void add_plot_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* plot = app.add_subcommand("plot", "Receipts as a picture, drawn by gnuplot");
    plot->add_option(
            "picture", o.picture,
            fmt::format("{}; docs/pictures.md shows each", fmt::join(picture_names(), ", ")))
        ->type_name("PICTURE");
    plot->add_option("files", o.files,
                     "receipt files, plain or gzip-compressed (default: the newest of this user; "
                     "of a scorecard receipts/ and its index)")
        ->type_name("FILE");
    add_output(*plot, o);
    plot->add_option("--track", o.track,
                     "trajectory, ladder: prefill (default), decode or from-scratch")
        ->type_name("TRACK");
    plot->add_option("--shape", o.shapes, "trajectory, ladder: the case that is shown")
        ->allow_extra_args(false)
        ->type_name("SHAPE");
    plot->add_option(
            "--over", o.over,
            "sweep: the field that varies, such as seqlen_k, batch or length, of attention also as "
            "a shape has it: k, b (default: the one with the most cases)")
        ->type_name("FIELD");
    plot->add_option("--op", o.operations,
                     "roofline, traffic, sweep: only this operation or chain, as in add+rmsnorm; "
                     "each has marks of its own; repeatable")
        ->allow_extra_args(false)
        ->type_name("OPERATION");
    plot->add_flag(
        "--all", o.all,
        "roofline, compare, sweep: all kernels, commits and shapes, however long the picture is "
        "(default: a part of it, and a note on its rule)");
    add(commands, *plot, run_plot,
        "Without -o the picture is drawn in the terminal. Where the receipts have nothing for "
        "it the exit code is 2.\n\n"
        "Examples:\n  raceline plot roofline FILE.jsonl\n"
        "  raceline plot roofline FILE.jsonl -o roofline.svg\n"
        "  raceline plot scorecard FILE.jsonl -o scorecard.png --keep-script");
}

void add_diff_command(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* diff = app.add_subcommand(
        "diff", "Two receipt files or commits, case by case: faster, slower, mispredicted");
    diff->add_option("sides", o.files,
                     "before and after: each a receipt file, plain or gzip-compressed, or a commit "
                     "whose rows are in receipts/")
        ->type_name("FILE");
    add_output(*diff, o);
    diff->add_flag("--all", o.all,
                   "all cases in the picture of -o (default: the eighty that changed most)")
        ->needs("--output");
    add_layout(*diff, o);
    add(commands, *diff, run_diff, "Examples:\n  raceline diff FILE.jsonl FILE.jsonl");
}

void add_shell_commands(CLI::App& app, Options& o, std::vector<Command>& commands) {
    auto* completion =
        app.add_subcommand("completion", "A script that completes commands and values in a shell");
    completion
        ->add_option("shell", o.shell,
                     "bash, zsh or fish; `cmake --install` puts all three where shells look")
        ->type_name("SHELL");
    add(commands, *completion, run_completion,
        "Examples:\n  raceline completion bash\n  raceline completion zsh\n"
        "  raceline completion fish\n\n"
        "In bash, for this session: source <(raceline completion bash)");

    auto* help = app.add_subcommand("help", "What a command does, and its options");
    help->add_option("command", o.topic, "a command (default: all of them)")->type_name("COMMAND");
    add(commands, *help, nullptr, "Examples:\n  raceline help\n  raceline help predict");
}

}  // namespace

std::vector<Command> add_commands(CLI::App& app, Options& options) {
    std::vector<Command> commands;
    add_listing_commands(app, options, commands);
    add_case_commands(app, options, commands);
    add_report_command(app, options, commands);
    add_point_command(app, options, commands);
    add_plot_command(app, options, commands);
    add_diff_command(app, options, commands);
    add_shell_commands(app, options, commands);
    for (const Command& command : commands) {
        command.app->group("Commands");
        command.app->ignore_case();
        refuse_empty_values(*command.app);
    }
    return commands;
}

std::string no_command_sentence(std::string_view name, const std::vector<Command>& commands) {
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const Command& command : commands) {
        names.push_back(command.app->get_name());
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    return fmt::format("command '{}' does not exist{}", name, one_of_these(name, views));
}

}  // namespace raceline::cli
