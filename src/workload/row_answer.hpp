// SPDX-License-Identifier: Apache-2.0
// The steps of a chain on one row in float64, for the answers of operations that have chains.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workload/operation.hpp"
#include "workload/row_chain.hpp"

namespace raceline {

/// Every result passes through `round`, which is where a kernel in fp32 rounds.
template <class Round>
class RowAnswer {
public:
    /// `head`: the head dim of rope. `eps`: what norms add to the variance.
    RowAnswer(const OperationData& in, const Round& round, std::int64_t head, double eps)
        : in_(in), round_(round), head_(head), eps_(eps) {}

    /// Applies `step` to row `row`, whose values are x. Operands are tensors from `operand` on.
    void apply(RowStep step, std::int64_t row, std::size_t operand, std::vector<double>& x) const {
        const Round& r = round_;
        const std::int64_t width = std::ssize(x);
        const auto each = [&](const auto& function) {
            for (std::int64_t i = 0; i < width; ++i) {
                x[i] = function(x[i], i);
            }
        };
        const auto matrix = [&](std::int64_t i) { return in_.at(operand, row * width + i); };
        const auto vector = [&](std::int64_t i) { return in_.at(operand, i); };
        switch (step) {
            case RowStep::relu: each([](double v, auto) { return v < 0 ? 0 : v; }); break;
            case RowStep::gelu: each([&](double v, auto) { return gelu(v); }); break;
            case RowStep::silu:
                each([&](double v, auto) { return r(v / r(1 + r(std::exp(-v)))); });
                break;
            case RowStep::sigmoid:
                each([&](double v, auto) { return r(1 / r(1 + r(std::exp(-v)))); });
                break;
            case RowStep::tanh: each([&](double v, auto) { return r(std::tanh(v)); }); break;
            case RowStep::exp: each([&](double v, auto) { return r(std::exp(v)); }); break;
            case RowStep::square: each([&](double v, auto) { return r(v * v); }); break;
            case RowStep::add: each([&](double v, auto i) { return r(v + matrix(i)); }); break;
            case RowStep::sub: each([&](double v, auto i) { return r(v - matrix(i)); }); break;
            case RowStep::mul: each([&](double v, auto i) { return r(v * matrix(i)); }); break;
            case RowStep::bias: each([&](double v, auto i) { return r(v + vector(i)); }); break;
            case RowStep::gain: each([&](double v, auto i) { return r(v * vector(i)); }); break;
            case RowStep::softmax: softmax(x); break;
            case RowStep::rmsnorm: {
                const double factor = norm_factor(x);
                each([&](double v, auto i) { return r(r(v * factor) * vector(i)); });
                break;
            }
            case RowStep::layernorm: layer_norm(operand, x); break;
            case RowStep::rope: rope(row, operand, x); break;
            case RowStep::store: break;
        }
    }

private:
    [[nodiscard]] double gelu(double v) const {
        const double inner =
            round_(gelu_c * round_(v + round_(gelu_k * round_(v * round_(v * v)))));
        const double rounded = round_(round_(v / 2) * round_(1 + round_(std::tanh(inner))));
        if (!std::isfinite(v)) {
            return rounded;
        }
        // 1 + tanh cancels for large negative ones. That is a kernel's rounding, not the answer's.
        return v / (1 + std::exp(-2 * inner)) + (rounded - v / 2 * (1 + std::tanh(inner)));
    }

    /// One over the root of the mean square.
    [[nodiscard]] double norm_factor(const std::vector<double>& x) const {
        double sum = 0;
        for (const double v : x) {
            sum = round_(sum + round_(v * v));
        }
        const double mean = round_(sum / static_cast<double>(x.size()));
        return round_(1 / round_(std::sqrt(round_(mean + eps_))));
    }

    void softmax(std::vector<double>& x) const {
        double largest = x.front();
        for (const double v : x) {
            largest = std::isnan(v) || v > largest ? v : largest;
        }
        double sum = 0;
        for (double& v : x) {
            v = round_(std::exp(round_(v - largest)));
            sum = round_(sum + v);
        }
        for (double& v : x) {
            v = round_(v / sum);
        }
    }

    void layer_norm(std::size_t gain, std::vector<double>& x) const {
        double sum = 0;
        for (const double v : x) {
            sum = round_(sum + v);
        }
        const double mean = round_(sum / static_cast<double>(x.size()));
        for (double& v : x) {
            v = round_(v - mean);
        }
        const double factor = norm_factor(x);
        for (std::int64_t i = 0; i < std::ssize(x); ++i) {
            x[i] = round_(round_(round_(x[i] * factor) * in_.at(gain, i)) + in_.at(gain + 1, i));
        }
    }

    void rope(std::int64_t row, std::size_t angles, std::vector<double>& x) const {
        const std::int64_t half = head_ / 2;
        for (std::int64_t first = 0; first < std::ssize(x); first += head_) {
            for (std::int64_t i = 0; i < half; ++i) {
                const double cosine = in_.at(angles, row * head_ + i);
                const double sine = in_.at(angles, row * head_ + half + i);
                const double a = x[first + i];
                const double b = x[first + half + i];
                x[first + i] = round_(round_(a * cosine) - round_(b * sine));
                x[first + half + i] = round_(round_(b * cosine) + round_(a * sine));
            }
        }
    }

    const OperationData& in_;
    const Round& round_;
    std::int64_t head_;
    double eps_;
};

}  // namespace raceline
