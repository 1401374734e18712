// SPDX-License-Identifier: Apache-2.0
// The float64 answer and the rounded references of one draw of inputs.
#include <algorithm>

#include "run/gate.hpp"

namespace raceline {
namespace {

/// Runs of rows that share a sequence and a KV head, at most `longest` each: a unit of work.
std::vector<std::span<const Row>> tasks_of(std::span<const Row> rows, std::int64_t group) {
    constexpr std::size_t longest = 8;
    std::vector<std::span<const Row>> tasks;
    for (std::size_t from = 0; from < rows.size();) {
        std::size_t to = from + 1;
        while (to < rows.size() && to - from < longest &&
               rows[to].sequence == rows[from].sequence &&
               rows[to].head / group == rows[from].head / group) {
            ++to;
        }
        tasks.push_back(rows.subspan(from, to - from));
        from = to;
    }
    return tasks;
}

}  // namespace

GateAnswers::GateAnswers(const Workload& workload, const Inputs& inputs, std::uint64_t seed)
    : workload_(workload), inputs_(inputs), rows_(rows_to_check(workload, seed)) {}

const std::vector<OracleRow>& GateAnswers::exact() {
    if (exact_.empty()) {
        exact_ = std::move(answers(nullptr, 1).front());
    }
    return exact_;
}

const std::vector<std::vector<OracleRow>>& GateAnswers::rounded(const Precision& precision) {
    const auto known = std::find_if(rounded_.begin(), rounded_.end(), [&](const auto& entry) {
        return entry.first == precision;
    });
    if (known != rounded_.end()) {
        return known->second;
    }
    auto answered = answers(&precision, roundings_of(workload_, rows_));
    return rounded_.emplace_back(precision, std::move(answered)).second;
}

std::vector<std::vector<OracleRow>> GateAnswers::answers(const Precision* precision,
                                                         std::int64_t count) const {
    const auto tasks = tasks_of(rows_, workload_.group());
    const std::int64_t all = std::ssize(tasks) * count;
    std::vector<std::vector<OracleRow>> found(count, std::vector<OracleRow>(rows_.size()));
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t n = 0; n < all; ++n) {
        const std::span<const Row> task = tasks[n / count];
        const Variant variant{n % count, count};
        std::vector<QueryRow> wanted;
        for (const Row& row : task) {
            wanted.push_back({row.row, row.head});
        }
        const std::int64_t sequence = task.front().sequence;
        auto answered = precision == nullptr ? oracle_rows(workload_, inputs_, sequence, wanted)
                                             : rounded_rows(workload_, inputs_, sequence, wanted,
                                                            *precision, variant);
        std::move(answered.begin(), answered.end(),
                  found[variant.index].begin() + (task.data() - rows_.data()));
    }
    return found;
}

}  // namespace raceline
