// SPDX-License-Identifier: Apache-2.0
// Two-pass softmax, twice from one source: with every type float64 it is the answer, with a
// kernel's types it is the reference whose error sets the gate's bound.
#include "workload/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.hpp"
#include "workload/cache_reader.hpp"
#include "workload/rounded_sum.hpp"

namespace raceline {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t block = 256;  // keys gathered at a time: a (d, 256) block stays in cache
constexpr Precision exact{Rounding::fp64, Rounding::fp64, Rounding::fp64, Rounding::fp64,
                          Rounding::fp64};

/// Whether every value of a storage type is a value of `type`, so that rounding changes nothing.
bool holds(Rounding type, DType stored) {
    switch (type) {
        case Rounding::fp64:
        case Rounding::fp32:
        case Rounding::fp32_rz:
        case Rounding::e4m3_sum: return true;
        case Rounding::tf32: return stored != DType::fp32;
        case Rounding::bf16: return stored == DType::bf16 || stored == DType::e4m3;
        case Rounding::fp16: return stored == DType::fp16 || stored == DType::e4m3;
        case Rounding::e4m3: return stored == DType::e4m3;
    }
    return false;
}

/// One query row on its way through softmax. T is float where accumulators are fp32, else double.
template <class T>
class RowState {
public:
    RowState(const Workload& w, const CacheReader& cache, std::int64_t sequence, QueryRow at,
             const Inputs& inputs, const Precision& precision)
        : workload_(w), precision_(precision), range_(w.visible(sequence, at.row)) {
        for (const double q : cache.query(at.row, at.head)) {
            query_.push_back(static_cast<T>(round_to(q, precision.products)));
        }
        range_.last = std::max(range_.first, range_.last);
        logits_.assign(range_.last - range_.first, 0);
        out_.assign(w.headdim_v, 0);
        scale_ = accumulated(w.scale_value() * cache.query_scale() * cache.key_scale());
        value_scale_ = accumulated(cache.value_scale());
        if (w.sinks) {
            sink_ = static_cast<double>(inputs.sinks[at.head]);
        }
    }

    [[nodiscard]] Workload::KeyRange range() const { return range_; }

    /// Raw products of the row with `count` transposed keys from `first` on.
    void add_keys(std::int64_t first, std::int64_t count, const float* transposed) {
        const auto [low, high] = overlap(first, count);
        if (precision_.accumulators == Rounding::e4m3_sum) {
            const auto width = static_cast<std::int64_t>(query_.size());
            for (std::int64_t c = 0; c < width; c += e4m3_depth) {
                add_e4m3_products(&logits_[low - range_.first], &query_[c],
                                  transposed + c * count + (low - first), count,
                                  std::min(e4m3_depth, width - c), high - low);
            }
            return;
        }
        for (std::size_t c = 0; c < query_.size() && low < high; ++c) {
            accumulate(&logits_[low - range_.first], query_[c],
                       transposed + static_cast<std::int64_t>(c) * count + (low - first),
                       high - low, precision_.accumulators);
        }
    }

    /// Logits to probabilities, relative to the largest; the denominator and the LSE.
    void normalise() {
        for (T& s : logits_) {
            s = static_cast<T>(logit(static_cast<double>(s)));
            largest_ = std::max(largest_, static_cast<double>(s));
        }
        if (largest_ == -infinity) {
            return;
        }
        for (T& s : logits_) {
            const double below = accumulated(static_cast<double>(s) - largest_);
            const double p = round_to(std::exp(below), precision_.exponentials);
            sum_ = accumulated(sum_ + p);
            s = static_cast<T>(
                round_to(p * precision_.probability_scale, precision_.probabilities) /
                precision_.probability_scale);
        }
        if (workload_.sinks) {
            sum_ =
                accumulated(sum_ + round_to(std::exp(sink_ - largest_), precision_.exponentials));
        }
    }

    /// `squares` are the mean squares of the rows of V.
    void add_values(std::int64_t first, std::int64_t count, const float* rows,
                    const std::vector<double>& squares) {
        const auto [low, high] = overlap(first, count);
        const std::int64_t width = workload_.headdim_v;
        for (std::int64_t j = low; j < high; ++j) {
            const T p = logits_[j - range_.first];
            squares_ += static_cast<double>(p) * static_cast<double>(p) * squares[j - first];
            if (precision_.accumulators != Rounding::e4m3_sum) {
                accumulate(out_.data(), p, rows + (j - first) * width, width,
                           precision_.accumulators);
            }
        }
        if (precision_.accumulators == Rounding::e4m3_sum) {
            add_promoted(low, high, rows + (low - first) * width);
        }
    }

    [[nodiscard]] OracleRow finish() const {
        OracleRow row{std::vector<double>(out_.size(), 0.0), -infinity, 0};
        if (largest_ == -infinity) {
            row.lse = workload_.sinks ? sink_ : -infinity;
            return row;
        }
        for (std::size_t c = 0; c < out_.size(); ++c) {
            const double mean = accumulated(static_cast<double>(out_[c]) / sum_);
            row.out[c] = round_to(accumulated(mean * value_scale_), precision_.output);
        }
        row.lse = accumulated(largest_ + accumulated(std::log(sum_)));
        row.spread = std::sqrt(squares_) * value_scale_ / sum_;
        return row;
    }

private:
    [[nodiscard]] double accumulated(double value) const {
        // Only a tensor core's own additions round toward zero, not what is done with their sums.
        const bool truncates = precision_.accumulators == Rounding::fp32_rz ||
                               precision_.accumulators == Rounding::e4m3_sum;
        return round_to(value, truncates ? Rounding::fp32 : precision_.accumulators);
    }

    /// Sums of the tensor core over the keys [low, high), added up in fp32.
    void add_promoted(std::int64_t low, std::int64_t high, const float* rows) {
        const std::int64_t width = workload_.headdim_v;
        std::vector<T> part(out_.size(), 0);
        for (std::int64_t j = low; j < high; j += e4m3_depth) {
            add_e4m3_products(part.data(), &logits_[j - range_.first], rows + (j - low) * width,
                              width, std::min(e4m3_depth, high - j), width);
        }
        for (std::size_t c = 0; c < part.size(); ++c) {
            out_[c] = static_cast<T>(accumulated(static_cast<double>(out_[c] + part[c])));
        }
    }

    [[nodiscard]] Workload::KeyRange overlap(std::int64_t first, std::int64_t count) const {
        return {std::max(first, range_.first), std::min(first + count, range_.last)};
    }

    [[nodiscard]] double logit(double product) const {
        const double s = accumulated(product * scale_);
        if (workload_.softcap == 0) {
            return s;
        }
        const double cap = accumulated(workload_.softcap);
        const double bent = round_to(std::tanh(accumulated(s / cap)), precision_.exponentials);
        return accumulated(cap * bent);
    }

    const Workload& workload_;
    const Precision& precision_;
    Workload::KeyRange range_;
    std::vector<T> query_, logits_, out_;
    double scale_ = 1, value_scale_ = 1, sink_ = -infinity;
    double largest_ = -infinity, sum_ = 0, squares_ = 0;
};

/// The mean square of each row of V, for the spread.
std::vector<double> mean_squares(const std::vector<float>& values, std::int64_t width) {
    std::vector<double> means(values.size() / width, 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto value = static_cast<double>(values[i]);
        means[i / width] += value * value / static_cast<double>(width);
    }
    return means;
}

template <class T>
std::vector<OracleRow> run_rows(const Workload& w, const Inputs& inputs, std::int64_t sequence,
                                std::span<const QueryRow> rows, const Precision& precision) {
    const CacheReader cache(w, inputs, sequence, rows.front().head / w.group());
    std::vector<RowState<T>> states;
    std::int64_t first = w.length_k(sequence);
    std::int64_t last = 0;
    for (const QueryRow& row : rows) {
        const RowState<T>& state = states.emplace_back(w, cache, sequence, row, inputs, precision);
        if (state.range().first < state.range().last) {
            first = std::min(first, state.range().first);
            last = std::max(last, state.range().last);
        }
    }
    std::vector<float> gathered;
    const auto round_operands = [&] {
        if (!holds(precision.products, w.kv_dtype)) {
            for (float& value : gathered) {
                value =
                    static_cast<float>(round_to(static_cast<double>(value), precision.products));
            }
        }
    };
    for (std::int64_t at = first; at < last; at += block) {
        const std::int64_t count = std::min(block, last - at);
        cache.keys(at, count, gathered);
        round_operands();
        for (RowState<T>& state : states) {
            state.add_keys(at, count, gathered.data());
        }
    }
    for (RowState<T>& state : states) {
        state.normalise();
    }
    for (std::int64_t at = first; at < last; at += block) {
        const std::int64_t count = std::min(block, last - at);
        cache.values(at, count, gathered);
        round_operands();
        const std::vector<double> squares = mean_squares(gathered, w.headdim_v);
        for (RowState<T>& state : states) {
            state.add_values(at, count, gathered.data(), squares);
        }
    }
    std::vector<OracleRow> answers;
    answers.reserve(states.size());
    for (const RowState<T>& state : states) {
        answers.push_back(state.finish());
    }
    return answers;
}

std::vector<OracleRow> run(const Workload& w, const Inputs& inputs, std::int64_t sequence,
                           std::span<const QueryRow> rows, const Precision& precision) {
    require(sequence >= 0 && sequence < w.batch, Status::invalid_argument,
            "sequence {} is outside batch {}", sequence, w.batch);
    for (const QueryRow& at : rows) {
        require(at.row >= 0 && at.row < w.length_q(sequence) && at.head >= 0 && at.head < w.heads_q,
                Status::invalid_argument, "row {} of head {} is outside sequence {} ({} × {})",
                at.row, at.head, sequence, w.length_q(sequence), w.heads_q);
        require(at.head / w.group() == rows.front().head / w.group(), Status::invalid_argument,
                "heads {} and {} do not share a KV head", at.head, rows.front().head);
    }
    return precision.accumulators == Rounding::fp32
               ? run_rows<float>(w, inputs, sequence, rows, precision)
               : run_rows<double>(w, inputs, sequence, rows, precision);
}

}  // namespace

OracleRow oracle_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                     std::int64_t row, std::int64_t head) {
    const QueryRow at{row, head};
    return run(workload, inputs, sequence, {&at, 1}, exact).front();
}

OracleRow rounded_row(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                      std::int64_t row, std::int64_t head, const Precision& precision) {
    const QueryRow at{row, head};
    return run(workload, inputs, sequence, {&at, 1}, precision).front();
}

std::vector<OracleRow> oracle_rows(const Workload& workload, const Inputs& inputs,
                                   std::int64_t sequence, std::span<const QueryRow> rows) {
    return run(workload, inputs, sequence, rows, exact);
}

std::vector<OracleRow> rounded_rows(const Workload& workload, const Inputs& inputs,
                                    std::int64_t sequence, std::span<const QueryRow> rows,
                                    const Precision& precision) {
    return run(workload, inputs, sequence, rows, precision);
}

}  // namespace raceline
