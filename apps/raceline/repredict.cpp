// SPDX-License-Identifier: Apache-2.0
#include "run/repredict.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "options.hpp"
#include "receipt/committed_evidence.hpp"
#include "receipt/file.hpp"
#include "run/commit_build.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/subprocess.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

using Answer = Repredictor::Answer;
using Outcome = Repredictor::Outcome;

struct Counts {
    int same = 0, differ = 0;
    std::map<std::string, int> no_rates;     // by reason
    std::map<std::string, int> other_model;  // by commit
};

void count(const Answer& answer, const std::string& where, const std::string& commit,
           Counts& counts) {
    switch (answer.outcome) {
        case Outcome::same: ++counts.same; return;
        case Outcome::differs:
            ++counts.differ;
            say("{}: {}", where, answer.why);
            return;
        case Outcome::no_rates: ++counts.no_rates[answer.why]; return;
        case Outcome::other_model: ++counts.other_model[commit]; return;
    }
}

// A refusal by an older program is no difference: it does not know the case.
Answer by_program(const std::string& program, const PredictionRow& row) {
    try {
        return Repredictor::compare(row.prediction, predicted_by(program, row));
    } catch (const Error& e) {
        return {Outcome::no_rates, e.what()};
    }
}

// With `program`, only rows of `commit` and by that program; else those that this one can.
void recompute(const std::string& path, const std::string& program, const std::string& commit,
               Counts& counts) {
    const ReceiptFile file = read_receipts(path);
    Repredictor own;
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const Json& row = file.rows[i];
        const auto of = row.at("git").at("commit").get<std::string>();
        const std::string where = fmt::format("{}: line {}", path, file.lines[i]);
        if (row.at("kind") == DeviceRow::kind) {
            own.take_device(row);
        } else if (row.at("kind") == PredictionRow::kind && (program.empty() || of == commit)) {
            const auto read = row_from_json<PredictionRow>(row);
            count(program.empty() ? own.again(read) : by_program(program, read), where, of, counts);
        }
    }
}

void print_counts(const Counts& counts) {
    fmt::print("{} predictions computed again bit for bit, {} differ\n", counts.same,
               counts.differ);
    for (const auto& [why, rows] : counts.no_rates) {
        fmt::print("{} not recomputable: {}\n", rows, why);
    }
    for (const auto& [commit, rows] : counts.other_model) {
        fmt::print("{} of another model or kernel: --commit {}\n", rows, commit);
    }
}

}  // namespace

int run_repredict(const Options& options) {
    require(!options.files.empty(), Status::invalid_argument,
            "--repredict needs the receipt files whose predictions are to be computed again");
    std::string program;
    std::string commit;
    if (!options.commit.empty()) {
        const std::string tree = tree_of(options.files.front());
        commit = commit_named(tree.empty() ? "." : tree, options.commit);
        program = program_of_commit(tree.empty() ? "." : tree, commit,
                                    [](const std::string& text) { say("{}", text); });
        // One that can do it knows what a file says of its device; an older one is asked case by
        // case.
        if (output_of({program, "report", "--help"}).value_or("").find("--repredict") !=
            std::string::npos) {
            std::vector<std::string> command{program, "report", "--repredict"};
            command.insert(command.end(), options.files.begin(), options.files.end());
            return exit_status_of(command) == 0 ? exit_ok : exit_failed;
        }
    }
    Counts counts;
    for (const std::string& file : options.files) {
        recompute(file, program, commit, counts);
    }
    print_counts(counts);
    return counts.differ == 0 ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
