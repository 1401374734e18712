// SPDX-License-Identifier: Apache-2.0
// One query row of the oracle on its way through a two-pass softmax, rounded where told.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "workload/cache_reader.hpp"
#include "workload/oracle.hpp"
#include "workload/rounded_sum.hpp"

namespace raceline {

/// T is float where accumulators are fp32, else double.
template <class T>
class RowState {
public:
    RowState(const Workload& w, const CacheReader& cache, std::int64_t sequence, QueryRow at,
             const Inputs& inputs, const Precision& precision, const Variant& variant)
        : workload_(w),
          precision_(precision),
          variant_(variant),
          probability_scale_(variant.probability_scale(precision)),
          seen_(seen_keys_of(w, inputs, sequence, at.row)),
          range_(w.visible(sequence, at.row)) {
        for (const double q : cache.query(at.row, at.head)) {
            query_.push_back(static_cast<T>(round_to(q, precision.products)));
        }
        std::rotate(query_.begin(), query_.begin() + variant.start(std::ssize(query_)),
                    query_.end());
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

    /// Raw products of the row with `count` transposed keys from `first` on, whose channels are in
    /// the variant's order.
    void add_keys(std::int64_t first, std::int64_t count, const float* transposed) {
        const auto [low, high] = overlap(first, count);
        if (narrow_sums()) {
            const std::int64_t width = std::ssize(query_);
            const std::int64_t turn = width - variant_.start(width);  // no group goes over it
            for (std::int64_t c = 0, depth = 0; c < width; c += depth) {
                depth = std::min(e4m3_depth, (c < turn ? turn : width) - c);
                add_e4m3_products(&logits_[low - range_.first], &query_[c],
                                  transposed + c * count + (low - first), count, depth, high - low);
            }
            if (precision_.padded_products && low < high) {
                add_e4m3_products(&logits_[low - range_.first], query_.data(), transposed, count, 0,
                                  high - low);
            }
            return;
        }
        for (std::size_t c = 0; c < query_.size() && low < high; ++c) {
            accumulate(&logits_[low - range_.first], query_[c],
                       transposed + static_cast<std::int64_t>(c) * count + (low - first),
                       high - low, precision_.accumulators);
        }
    }

    /// Products of keys from `first` on, all there, take their tokens' scales; none if empty.
    void scale_keys(std::int64_t first, const std::vector<float>& scales) {
        const auto [low, high] = overlap(first, std::ssize(scales));
        for (std::int64_t j = low; j < high; ++j) {
            T& product = logits_[j - range_.first];
            const auto scale = static_cast<double>(scales[j - first]);
            product = static_cast<T>(accumulated(static_cast<double>(product) * scale));
        }
    }

    /// Logits to probabilities, relative to the largest; the denominator and the LSE.
    void normalise() {
        bool number = true;
        for (T& s : logits_) {
            if (hidden(range_.first + (&s - logits_.data()))) {
                s = -std::numeric_limits<T>::infinity();
                continue;
            }
            s = static_cast<T>(logit(static_cast<double>(s)));
            largest_ = std::max(largest_, static_cast<double>(s));
            number = number && !std::isnan(s);
        }
        if (!number) {
            largest_ = std::numeric_limits<double>::quiet_NaN();  // max() lets NaN go by
        }
        if (largest_ == -infinite) {
            judged_ = seen_.count() == 0;  // else keys, but none with a weight
            return;
        }
        const std::int64_t keys = std::ssize(logits_);
        const std::int64_t start = variant_.start(keys);
        for (std::int64_t n = 0; n < keys; ++n) {
            const std::int64_t at = n < keys - start ? start + n : start + n - keys;
            T& s = logits_[at];
            if (hidden(range_.first + at)) {
                s = 0;
                continue;
            }
            const double below = accumulated(static_cast<double>(s) - largest_);
            const double p = round_to(std::exp(below), precision_.exponentials);
            sum_ = accumulated(sum_ + p);
            // Products with 8-bit probabilities are short, and the tensor core cuts what is not:
            // those stay as they are rounded, and the answer is divided.
            // Where each value has a scale, it is rounded with that one (scale_values).
            const double rounded = workload_.has_token_scales()
                                       ? p * probability_scale_
                                       : round_to(p * probability_scale_, precision_.probabilities);
            s = static_cast<T>(rounded / (narrow_sums() ? 1 : probability_scale_));
        }
        if (workload_.sinks) {
            sum_ =
                accumulated(sum_ + round_to(std::exp(sink_ - largest_), precision_.exponentials));
        }
    }

    /// The same of probabilities and the scales of values, in front of add_values.
    void scale_values(std::int64_t first, const std::vector<float>& scales) {
        const auto [low, high] = overlap(first, std::ssize(scales));
        for (std::int64_t j = low; j < high; ++j) {
            if (!hidden(j)) {
                T& p = logits_[j - range_.first];
                p = static_cast<T>(
                    round_to(static_cast<double>(p) * static_cast<double>(scales[j - first]) *
                                 probability_scale_,
                             precision_.probabilities) /
                    probability_scale_);
            }
        }
    }

    /// `squares` are the mean squares of the rows of V.
    void add_values(std::int64_t first, std::int64_t count, const float* rows,
                    const std::vector<double>& squares) {
        const auto [low, high] = overlap(first, count);
        const std::int64_t width = workload_.headdim_v;
        for (std::int64_t j = low; j < high; ++j) {
            const T p = logits_[j - range_.first];
            if (hidden(j)) {
                continue;  // no term at all: 0 times a NaN would be one
            }
            if (!std::isfinite(squares[j - first]) &&
                static_cast<double>(p) < std::numeric_limits<float>::min() * sum_) {
                judged_ = false;
            }
            squares_ += static_cast<double>(p) * static_cast<double>(p) * squares[j - first];
            if (!narrow_sums()) {
                accumulate(out_.data(), p, rows + (j - first) * width, width,
                           precision_.accumulators);
            }
        }
        if (narrow_sums()) {
            add_narrow(low, high, rows + (low - first) * width);
        }
    }

    [[nodiscard]] OracleRow finish() {
        promote();
        OracleRow row{std::vector<double>(out_.size(), 0.0), -infinite, 0, judged_};
        if (largest_ == -infinite) {
            row.lse = workload_.sinks ? sink_ : -infinite;
            return row;
        }
        for (std::size_t c = 0; c < out_.size(); ++c) {
            const double mean = accumulated(static_cast<double>(out_[c]) / (sum_ * scaled_by()));
            row.out[c] = round_to(accumulated(mean * value_scale_), precision_.output);
        }
        row.lse = accumulated(largest_ + accumulated(std::log(sum_)));
        row.spread = std::sqrt(squares_) * value_scale_ / (sum_ * scaled_by());
        return row;
    }

private:
    /// Of a key in the range that a row sees: whether the tree takes it away.
    [[nodiscard]] bool hidden(std::int64_t key) const {
        return workload_.tree != 0 && !seen_.sees(key);
    }
    [[nodiscard]] bool narrow_sums() const { return precision_.accumulators == Rounding::e4m3_sum; }
    /// What sums of P·V are to be divided by, beside P's own sum.
    [[nodiscard]] double scaled_by() const { return narrow_sums() ? probability_scale_ : 1; }
    [[nodiscard]] double accumulated(double value) const {
        // Only a tensor core's own additions round toward zero, not what is done with their sums.
        const bool truncates = precision_.accumulators == Rounding::fp32_rz || narrow_sums();
        return round_to(value, truncates ? Rounding::fp32 : precision_.accumulators);
    }

    /// Sums of the tensor core over the keys [low, high), promoted as the precision says.
    void add_narrow(std::int64_t low, std::int64_t high, const float* rows) {
        const std::int64_t width = workload_.headdim_v;
        narrow_.resize(out_.size(), 0);
        for (std::int64_t j = low; j < high; j += e4m3_depth) {
            const std::int64_t depth = std::min(e4m3_depth, high - j);
            add_e4m3_products(narrow_.data(), &logits_[j - range_.first], rows + (j - low) * width,
                              width, depth, width);
            unpromoted_ += depth;
            if (precision_.promoted_keys > 0 && unpromoted_ >= precision_.promoted_keys) {
                promote();
            }
        }
    }
    /// What the tensor core has added up goes into the sum in fp32, and it begins anew.
    void promote() {
        for (std::size_t c = 0; c < narrow_.size(); ++c) {
            out_[c] = static_cast<T>(accumulated(static_cast<double>(out_[c] + narrow_[c])));
            narrow_[c] = 0;
        }
        unpromoted_ = 0;
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

    static constexpr double infinite = std::numeric_limits<double>::infinity();

    const Workload& workload_;
    const Precision& precision_;
    Variant variant_;
    double probability_scale_;
    SeenKeys seen_;
    Workload::KeyRange range_;
    std::vector<T> query_, logits_, out_;
    std::vector<T> narrow_;  ///< sums that the tensor core has in hand, of so many keys
    std::int64_t unpromoted_ = 0;
    double scale_ = 1, value_scale_ = 1, sink_ = -infinite;
    double largest_ = -infinite, sum_ = 0, squares_ = 0;
    bool judged_ = true;
};

}  // namespace raceline
