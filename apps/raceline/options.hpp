// SPDX-License-Identifier: Apache-2.0
// What the command line said, and the commands it can name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "raceline/point.hpp"
#include "receipt/row.hpp"
#include "support/text_style.hpp"

namespace raceline::cli {

/// Exit codes that a script can act on.
enum Exit : int { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_no_device = 3 };

struct Options {
    RowContext context;  ///< argv, git, environment of this process
    bool json = false;
    bool wide = false;                 ///< tables as wide as they are
    std::string color = "auto";        ///< of what is printed: auto, always or never
    bool verbose = false;              ///< predict: all kernels, tiles and refusals
    std::string device;                ///< empty: cuda if live, else cpu
    std::vector<std::string> kernels;  ///< empty: all that support the shape
    std::vector<std::string> diff;     ///< two rungs, or empty
    std::string suite;
    std::vector<std::string> shapes;
    std::string fuse;   ///< predict, bench: a chain and its sizes
    std::string tile;   ///< empty: the command's default, best or (check) all
    std::string dtype;  ///< empty: the suite's own
    int threads = 0;
    std::optional<std::uint64_t> seed;  ///< none: a fresh one
    bool warm = false;
    std::string launch_path;  ///< empty: graph on a GPU, parallel on a CPU
    std::string regime;       ///< GPU: empty or sustained, or alone
    double max_seconds = 0;   ///< per case; 0: the default of the stop rule
    std::optional<std::string> rates;
    std::string receipts;  ///< empty: default of the command
    bool force = false;    ///< measure: even if this machine has ceilings
    bool if_missing = false;
    bool power = false;  ///< measure: what each resource draws, instead of ceilings

    bool explain = false;       ///< predict: terms and constants of each case
    bool uncalibrated = false;  ///< predict: without constants that were fitted to the kernel

    std::vector<std::string> files;  ///< report
    bool check = false;              ///< report
    bool ladder = false;             ///< report: docs/ladder.md
    bool repredict = false;          ///< report: compute predictions again
    std::string commit;              ///< report --repredict: by the program of this commit
    bool docs = false;               ///< report: generated parts of pages
    bool scorecard = false;          ///< report: how good predictions were
    bool markdown = false;           ///< report: the scorecard as tables of a page
    std::string html;                ///< report: the page is written into this file

    WorkPoint point;   ///< point: amounts, and what files do not say
    std::string name;  ///< point: of it

    std::string picture;  ///< plot: which one
    std::string
        output;  ///< plot, diff, point, predict: the picture's file; empty: none, or the terminal
    bool all = false;                     ///< plot, diff: nothing is left out of a long picture
    bool keep_script = false;             ///< plot, diff: the script stays beside the picture
    std::string track;                    ///< plot: of the ladder; empty: prefill
    std::vector<std::string> operations;  ///< plot: the only ones that are drawn; empty: all
    std::string over;  ///< plot sweep: a field of workloads; empty: chosen. predict: a range

    std::string shell;  ///< completion: for which one
    std::string topic;  ///< help: the command that it is about; empty: all
};

int run_devices(const Options& options);
int run_measure(const Options& options);
int run_kernels(const Options& options);
/// Prints what rung `after` changes of rung `before`: its record's words, then its own code beside
/// the other's. Throws Error(invalid_argument) for a kernel that is no rung.
void print_lesson(const std::string& before, const std::string& after, const TextStyle& style);
int run_predict(const Options& options);
int run_check(const Options& options);
int run_bench(const Options& options);
int run_report(const Options& options);
int run_page(const Options& options);  ///< report --html
int run_point(const Options& options);
int run_plot(const Options& options);
int run_diff(const Options& options);
int run_repredict(const Options& options);  ///< report --repredict
int run_completion(const Options& options);

/// What `plot` draws, by name.
std::vector<std::string> picture_names();

/// Draws a chart into options.output, or in the terminal if that is empty; its notes go to stderr.
void draw(Chart chart, const Options& options);

/// Refuses an options.output that is no picture's name or would cost a file that is none.
void require_picture_output(const Options& options);

}  // namespace raceline::cli
