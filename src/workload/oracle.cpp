// SPDX-License-Identifier: Apache-2.0
// Two-pass softmax, twice from one source: with every type float64 it is the answer, with a
// kernel's types it is the reference whose error sets the gate's bound.
#include "workload/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "support/check.hpp"
#include "workload/cache_reader.hpp"
#include "workload/row_state.hpp"

namespace raceline {
namespace {

constexpr std::int64_t key_block = 256;  // keys gathered at a time: a (d, 256) block stays in cache
constexpr Precision exact{Rounding::fp64, Rounding::fp64, Rounding::fp64, Rounding::fp64,
                          Rounding::fp64};

/// The mean square of each row of V, for the spread.
std::vector<double> mean_squares(const std::vector<float>& values, std::int64_t width) {
    std::vector<double> means(values.size() / width, 0.0);
    const float* value = values.data();
    for (double& mean : means) {
        for (const float* end = value + width; value != end; ++value) {
            mean += static_cast<double>(*value) * static_cast<double>(*value);
        }
        mean /= static_cast<double>(width);
    }
    return means;
}

/// Keys gathered at a time, [first, last) from the variant's start on and then those before it.
struct KeyBlock {
    std::int64_t first, count;
};
std::vector<KeyBlock> blocks_of(std::int64_t first, std::int64_t last, const Variant& variant) {
    std::vector<KeyBlock> blocks;
    const std::int64_t start = first + variant.start(std::max<std::int64_t>(0, last - first));
    for (std::int64_t at = start; at < last; at += key_block) {
        blocks.push_back({at, std::min(key_block, last - at)});
    }
    for (std::int64_t at = first; at < start; at += key_block) {
        blocks.push_back({at, std::min(key_block, start - at)});
    }
    return blocks;
}

/// What rows of one sequence and KV head are worked out from, and how.
struct Task {
    const Workload& workload;
    const Inputs& inputs;
    std::int64_t sequence;
    std::span<const QueryRow> rows;
    const Precision& precision;
    Variant variant;
};

void round_operands(const Task& task, std::vector<float>& gathered) {
    if (!holds(task.precision.products, task.workload.kv_dtype)) {
        for (float& value : gathered) {
            value =
                static_cast<float>(round_to(static_cast<double>(value), task.precision.products));
        }
    }
}

template <class T>
std::vector<OracleRow> run_rows(const Task& task) {
    const Workload& w = task.workload;
    const CacheReader cache(w, task.inputs, task.sequence, task.rows.front().head / w.group());
    std::vector<RowState<T>> states;
    std::int64_t first = w.length_k(task.sequence);
    std::int64_t last = 0;
    for (const QueryRow& row : task.rows) {
        const RowState<T>& state = states.emplace_back(w, cache, task.sequence, row, task.inputs,
                                                       task.precision, task.variant);
        if (state.range().first < state.range().last) {
            first = std::min(first, state.range().first);
            last = std::max(last, state.range().last);
        }
    }
    const std::vector<KeyBlock> blocks = blocks_of(first, last, task.variant);
    std::vector<float> gathered;
    for (const auto& [at, count] : blocks) {
        cache.keys(at, count, gathered);
        round_operands(task, gathered);
        std::rotate(gathered.begin(), gathered.begin() + task.variant.start(w.headdim) * count,
                    gathered.end());
        for (RowState<T>& state : states) {
            state.add_keys(at, count, gathered.data());
            state.scale_keys(at, cache.key_scales(at, count));
        }
    }
    for (RowState<T>& state : states) {
        state.normalise();
    }
    for (const auto& [at, count] : blocks) {
        cache.values(at, count, gathered);
        round_operands(task, gathered);
        const std::vector<double> squares = mean_squares(gathered, w.headdim_v);
        for (RowState<T>& state : states) {
            state.scale_values(at, cache.value_scales(at, count));
            state.add_values(at, count, gathered.data(), squares);
        }
    }
    std::vector<OracleRow> answers;
    answers.reserve(states.size());
    for (RowState<T>& state : states) {
        answers.push_back(state.finish());
    }
    return answers;
}

std::vector<OracleRow> run(const Task& task) {
    const Workload& w = task.workload;
    const std::int64_t sequence = task.sequence;
    require(sequence >= 0 && sequence < w.batch, Status::invalid_argument,
            "sequence {} is outside batch {}", sequence, w.batch);
    for (const QueryRow& at : task.rows) {
        require(at.row >= 0 && at.row < w.length_q(sequence) && at.head >= 0 && at.head < w.heads_q,
                Status::invalid_argument, "row {} of head {} is outside sequence {} ({} × {})",
                at.row, at.head, sequence, w.length_q(sequence), w.heads_q);
        require(at.head / w.group() == task.rows.front().head / w.group(), Status::invalid_argument,
                "heads {} and {} do not share a KV head", at.head, task.rows.front().head);
    }
    return task.precision.accumulators == Rounding::fp32 ? run_rows<float>(task)
                                                         : run_rows<double>(task);
}

}  // namespace

double Variant::probability_scale(const Precision& precision) const {
    int exponent = 0;
    if (std::frexp(precision.probability_scale, &exponent) == 0.5) {
        return precision.probability_scale;  // a power of two: relative to the row's own maximum
    }
    // Up by less than half a power of two and down by at most that.
    const double part = static_cast<double>(index) / static_cast<double>(count);
    return precision.probability_scale * std::exp2(part < 0.5 ? part : part - 1);
}

OracleRow oracle_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                     std::int64_t row, std::int64_t head) {
    const QueryRow at{row, head};
    return run({workload, inputs, sequence, {&at, 1}, exact, {}}).front();
}

OracleRow rounded_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                      std::int64_t row, std::int64_t head, const Precision& precision,
                      const Variant& variant) {
    const QueryRow at{row, head};
    return run({workload, inputs, sequence, {&at, 1}, precision, variant}).front();
}

std::vector<OracleRow> oracle_rows(const Workload& workload, const Inputs& inputs,
                                   std::int64_t sequence, std::span<const QueryRow> rows) {
    return run({workload, inputs, sequence, rows, exact, {}});
}

std::vector<OracleRow> rounded_rows(const Workload& workload, const Inputs& inputs,
                                    std::int64_t sequence, std::span<const QueryRow> rows,
                                    const Precision& precision, const Variant& variant) {
    return run({workload, inputs, sequence, rows, precision, variant});
}

}  // namespace raceline
