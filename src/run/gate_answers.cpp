// SPDX-License-Identifier: Apache-2.0
// The float64 answer and the rounded references of one draw of inputs.
#include <algorithm>

#include "run/gate.hpp"
#include "run/row_errors.hpp"

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

/// The last row that sees a key; without any, the last of all.
std::int64_t last_to_see(const Workload& w, const Inputs& in, std::int64_t b, std::int64_t key) {
    for (std::int64_t row = w.length_q(b) - 1; row >= 0; --row) {
        if (seen_keys_of(w, in, b, row).sees(key)) {
            return row;
        }
    }
    return w.length_q(b) - 1;
}

/// Rows that the values which are not finite decide: where they stand, and who sees them last.
void add_rows_of_places(const Workload& w, const Inputs& in, std::uint64_t seed,
                        std::vector<Row>& rows) {
    for (const NonFinite& one : non_finite_places(w, seed)) {
        if (one.tensor == NonFinite::Tensor::q) {
            rows.push_back({one.sequence, one.token, one.head});
            continue;
        }
        const std::int64_t last = last_to_see(w, in, one.sequence, one.token);
        for (std::int64_t head = one.head * w.group(); head < (one.head + 1) * w.group(); ++head) {
            rows.push_back({one.sequence, last, head});
            rows.push_back({one.sequence, (w.length_q(one.sequence) - 1) / 2, head});
        }
    }
    std::sort(rows.begin(), rows.end(), before);
    rows.erase(std::unique(rows.begin(), rows.end(),
                           [](const Row& a, const Row& b) { return !before(a, b); }),
               rows.end());
}

}  // namespace

GateAnswers::GateAnswers(const Workload& workload, const Inputs& inputs, std::uint64_t seed,
                         Draw draw)
    : workload_(workload), inputs_(inputs), draw_(draw), rows_(rows_to_check(workload, seed)) {
    if (draw == Draw::non_finite) {
        add_rows_of_places(workload, inputs, seed, rows_);
    }
}

GateAnswers::GateAnswers(const Workload& workload, const Inputs& inputs, Draw draw,
                         std::vector<Row> rows)
    : workload_(workload), inputs_(inputs), draw_(draw), rows_(std::move(rows)) {}

const std::vector<OracleRow>& GateAnswers::exact() {
    if (exact_.empty()) {
        exact_ = std::move(answers(nullptr, 1).front());
    }
    return exact_;
}

GateAnswers::Rounded& GateAnswers::rounded_as(const Precision& precision) {
    const auto known = std::find_if(rounded_.begin(), rounded_.end(),
                                    [&](const Rounded& one) { return one.precision == precision; });
    if (known != rounded_.end()) {
        return *known;
    }
    return rounded_.emplace_back(
        Rounded{precision, answers(&precision, roundings_of(workload_, rows_)), {}});
}

const std::vector<std::vector<OracleRow>>& GateAnswers::rounded(const Precision& precision) {
    return rounded_as(precision).rows;
}

const Reference& GateAnswers::reference(const Precision& precision) {
    Rounded& rounded = rounded_as(precision);
    if (!rounded.reference) {
        rounded.reference = reference_errors(*this, rounded.rows);
    }
    return *rounded.reference;
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
