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
#include "support/text_table.hpp"
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

// What another program says of rows that its commit wrote.
class OtherProgram {
public:
    explicit OtherProgram(std::string path) : path_(std::move(path)) {}

    // A refusal by an older program is no difference: it does not know the case.
    [[nodiscard]] Answer again(const PredictionRow& row) const {
        try {
            return Repredictor::compare(row.prediction, predicted_by(path_, row));
        } catch (const Error& e) {
            return {Outcome::no_rates, e.what()};
        }
    }

    // Of the model_hash alone, which is one for all cases of a kernel: asked once.
    [[nodiscard]] Answer model(const PredictionRow& row) {
        std::string& own = models_[row.about.kernel];
        try {
            own = own.empty() ? predicted_by(path_, row).model_hash : own;
        } catch (const Error& e) {
            return {Outcome::no_rates,
                    fmt::format("model_hash of {} is not known: {}", row.about.kernel, e.what())};
        }
        const std::string fault = Repredictor::model_fault(row, own);
        return {fault.empty() ? Outcome::same : Outcome::differs, fault};
    }

private:
    std::string path_;
    std::map<std::string, std::string> models_;  // by kernel
};

// All predictions of a file, in its order.
template <class Visit>
void each_prediction(const std::string& path, const Visit& visit) {
    const ReceiptFile file = read_receipts(path);
    Repredictor own;
    for (std::size_t i = 0; i < file.rows.size(); ++i) {
        const Json& row = file.rows[i];
        if (row.at("kind") == DeviceRow::kind) {
            own.take_device(row);
        } else if (row.at("kind") == PredictionRow::kind) {
            visit(own, row, fmt::format("{}: line {}", path, file.lines[i]));
        }
    }
}

std::string commit_of(const Json& row) {
    return row.at("git").at("commit").get<std::string>();
}

Answer with_fault(Answer answer, const std::string& fault) {
    if (fault.empty()) {
        return answer;
    }
    const bool differs = answer.outcome == Outcome::differs;
    return {Outcome::differs, differs ? answer.why + "; " + fault : fault};
}

// By this program, those that it can.
void recompute(const std::string& path, Counts& counts) {
    const std::string_view commit = build_info::git_dirty() ? "" : build_info::git_commit();
    each_prediction(path, [&](Repredictor& own, const Json& row, const std::string& where) {
        const std::string fault = own.rates_fault(row);
        count(with_fault(own.again(row, commit), fault), where, commit_of(row), counts);
    });
}

// By a program of `commit`, the rows of that commit.
void recompute_by(OtherProgram& program, const std::string& commit, const std::string& path,
                  Counts& counts) {
    each_prediction(path, [&](Repredictor& own, const Json& row, const std::string& where) {
        const std::string fault = own.rates_fault(row);
        if (commit_of(row) == commit) {
            const auto read = row_from_json<PredictionRow>(row);
            count(with_fault(program.again(read), fault), where, commit, counts);
        }
    });
}

// The program looks at the file itself, but one of before this rule takes a false model_hash for
// that of another program.
void check_models(OtherProgram& program, const std::string& commit, const std::string& path,
                  Counts& counts) {
    each_prediction(path, [&](Repredictor&, const Json& row, const std::string& where) {
        if (Repredictor::is_of(row, commit)) {
            count(program.model(row_from_json<PredictionRow>(row)), where, commit, counts);
        }
    });
}

void print_counts(const Counts& counts) {
    const auto predictions = [](int rows) {
        return counted_text(static_cast<std::size_t>(rows), "prediction");
    };
    fmt::print("{} computed again bit for bit, {} differ\n", predictions(counts.same),
               counts.differ);
    for (const auto& [why, rows] : counts.no_rates) {
        fmt::print("{} cannot be computed again: {}\n", predictions(rows), why);
    }
    for (const auto& [commit, rows] : counts.other_model) {
        fmt::print("{} of another model or kernel, which --commit {} computes again\n",
                   predictions(rows), commit);
    }
}

// One that can do it knows what a file says of its device; an older one is asked case by case.
bool knows_repredict(const std::string& program) {
    return output_of({program, "report", "--help"}).value_or("").find("--repredict") !=
           std::string::npos;
}

int run_program_of(const Options& options) {
    const std::string tree = tree_of(options.files.front());
    const std::string folder = tree.empty() ? "." : tree;
    const std::string commit = commit_named(folder, options.commit);
    const std::string path =
        program_of_commit(folder, commit, [](const std::string& text) { say("{}", text); });
    OtherProgram program(path);
    Counts counts;
    if (!knows_repredict(path)) {
        for (const std::string& file : options.files) {
            recompute_by(program, commit, file, counts);
        }
        print_counts(counts);
        return counts.differ == 0 ? exit_ok : exit_failed;
    }
    for (const std::string& file : options.files) {
        check_models(program, commit, file, counts);
    }
    std::vector<std::string> command{path, "report", "--repredict"};
    command.insert(command.end(), options.files.begin(), options.files.end());
    return exit_status_of(command) == 0 && counts.differ == 0 ? exit_ok : exit_failed;
}

}  // namespace

int run_repredict(const Options& options) {
    require(!options.files.empty(), Status::invalid_argument,
            "--repredict needs the receipt files whose predictions are to be computed again");
    if (!options.commit.empty()) {
        return run_program_of(options);
    }
    Counts counts;
    for (const std::string& file : options.files) {
        recompute(file, counts);
    }
    print_counts(counts);
    return counts.differ == 0 ? exit_ok : exit_failed;
}

}  // namespace raceline::cli
