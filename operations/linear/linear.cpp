// SPDX-License-Identifier: Apache-2.0
// A matrix product, with steps on the rows that enter it and on the rows that leave it:
// linear+bias+gelu, rmsnorm+linear+silu. `linear` is x · wᵀ with weights (n, k) as a layer stores
// them, `gemm` is a · b with b (k, n).
#include <algorithm>
#include <array>
#include <cmath>

#include "support/check.hpp"
#include "workload/answer_by_rows.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"
#include "workload/oracle.hpp"
#include "workload/row_answer.hpp"
#include "workload/row_chain.hpp"

namespace raceline::operations::linear {
namespace {

constexpr std::string_view chain_field = "steps";
constexpr std::string_view usual_eps = "1e-05";
constexpr std::array<std::string_view, 2> products{"linear", "gemm"};
constexpr std::array fields{
    OperationField{chain_field, "the product, with what is done before and after it",
                   FieldKind::chain},
    OperationField{"m", "rows of x and of the result", FieldKind::count},
    OperationField{"n", "columns of the result", FieldKind::count},
    OperationField{"k", "columns of x", FieldKind::count},
    OperationField{"eps", "what a norm adds to the variance", FieldKind::real, usual_eps}};
constexpr std::array draws{Draw::plain, Draw::outliers, Draw::biased, Draw::non_finite};
constexpr std::array<std::string_view, 12> examples{"op=linear,m=9,n=40,k=33",
                                                    "op=gemm,m=9,n=40,k=33",
                                                    "op=linear+bias+gelu,m=5,n=24,k=64",
                                                    "op=rmsnorm+linear+silu,m=5,n=24,k=64",
                                                    "op=linear+add,m=3,n=8,k=16",
                                                    "op=linear,m=1,n=72,k=100",
                                                    "op=linear+bias,m=17,n=5,k=8",
                                                    "op=gemm+bias+gelu,m=4,n=31,k=130",
                                                    "op=linear+silu+mul,m=6,n=12,k=20",
                                                    "op=gemm+sub+square,m=6,n=12,k=20",
                                                    "op=linear+gain+sigmoid,m=2,n=9,k=50",
                                                    "op=linear+bias+tanh+exp,m=2,n=9,k=50"};

bool is_product(std::string_view step) {
    return std::ranges::find(products, step) != products.end();
}

/// A chain, taken apart at its product.
struct Parts {
    std::string_view product;
    std::vector<RowStep> before, after;
};
Parts parts_of(const Workload& w) {
    Parts parts;
    for (const std::string_view name : steps_of(w.word(chain_field))) {
        if (is_product(name)) {
            parts.product = name;
            continue;
        }
        const RowStepForm* form = find_row_step(name);
        require(form != nullptr, Status::invalid_argument, "'{}' is no step of a chain",
                name.substr(0, 40));
        (parts.product.empty() ? parts.before : parts.after).push_back(form->step);
    }
    require(!parts.product.empty(), Status::invalid_argument, "the chain has no product");
    return parts;
}

bool claims(std::span<const std::string_view> chain) {
    return std::ranges::any_of(chain, is_product);
}

std::string why_not(std::span<const std::string_view> chain) {
    if (std::ranges::count_if(chain, is_product) > 1) {
        return "one kernel computes one matrix product: the second would wait for whole rows of "
               "the "
               "first";
    }
    if (chain.size() > longest_row_chain) {
        return fmt::format("it has {} steps, and a chain at most {}", chain.size(),
                           longest_row_chain);
    }
    for (const std::string_view step : chain) {
        if (step == "store" || step == "rope") {
            return fmt::format("no kernel runs {} beside a matrix product: ask for each by itself",
                               step);
        }
    }
    return {};
}
constexpr ChainForm form{products, claims, why_not};

void validate(const Workload& w) {
    const Parts parts = parts_of(w);
    for (const char* name : {"m", "n", "k"}) {
        require(w.extent(name) >= 1, Status::invalid_argument, "{} is 0: it must be 1 or more",
                name);
    }
    require(w.dtype == DType::fp32 || w.dtype == DType::fp16 || w.dtype == DType::bf16,
            Status::invalid_argument, "dtype is {}: {} takes fp32, fp16 or bf16", name_of(w.dtype),
            parts.product);
    const auto has_norm = [](std::span<const RowStep> steps) {
        return std::ranges::any_of(steps, [](RowStep step) {
            return step == RowStep::rmsnorm || step == RowStep::layernorm;
        });
    };
    const bool norm = has_norm(parts.before) || has_norm(parts.after);
    require(norm ? w.scalar("eps") >= 0 : fmt::format("{}", w.scalar("eps")) == usual_eps,
            Status::invalid_argument, "eps is {}: {}", w.scalar("eps"),
            norm ? "it must be 0 or more" : "only norms have one, leave it out");
}

void add_operands(std::vector<TensorSpec>& list, std::span<const RowStep> steps, DType dtype,
                  std::int64_t rows, std::int64_t width) {
    for (const RowStep step : steps) {
        const RowStepForm& its = form_of(step);
        switch (its.operand) {
            case RowOperand::matrix: list.push_back({its.name, dtype, rows, width}); break;
            case RowOperand::vector: list.push_back({its.name, dtype, 1, width}); break;
            case RowOperand::two_vectors:
                list.push_back({"gain", dtype, 1, width});
                list.push_back({"bias", dtype, 1, width});
                break;
            default: break;
        }
    }
}

/// x, operands of the steps before the product, the weights, operands of those after it, y.
std::vector<TensorSpec> tensors(const Workload& w) {
    const Parts parts = parts_of(w);
    const std::int64_t m = w.extent("m");
    const std::int64_t n = w.extent("n");
    const std::int64_t k = w.extent("k");
    std::vector<TensorSpec> list{{"x", w.dtype, m, k}};
    add_operands(list, parts.before, w.dtype, m, k);
    list.push_back(parts.product == "linear" ? TensorSpec{"weights", w.dtype, n, k}
                                             : TensorSpec{"b", w.dtype, k, n});
    add_operands(list, parts.after, w.dtype, m, n);
    list.push_back({"y", w.dtype, m, n, true});
    return list;
}

constexpr std::int32_t code_of_product = -1;

/// Steps before, a product (-1 of linear, -2 of gemm), steps after.
std::vector<std::int32_t> codes(const Workload& w) {
    const Parts parts = parts_of(w);
    std::vector<std::int32_t> list;
    list.reserve(parts.before.size() + 1 + parts.after.size());
    for (const RowStep step : parts.before) {
        list.push_back(static_cast<std::int32_t>(step));
    }
    list.push_back(parts.product == "linear" ? code_of_product : code_of_product - 1);
    for (const RowStep step : parts.after) {
        list.push_back(static_cast<std::int32_t>(step));
    }
    return list;
}

template <class Round>
std::vector<double> values(const Workload& w, const OperationData& in,
                           std::span<const std::int64_t> rows, const Round& round,
                           const Round& enters) {
    const Parts parts = parts_of(w);
    const std::int64_t n = w.extent("n");
    const std::int64_t k = w.extent("k");
    const RowAnswer<Round> run(in, round, 1, w.scalar("eps"));
    const bool by_rows = parts.product == "linear";
    std::size_t weights = 1;
    for (const RowStep step : parts.before) {
        weights += tensors_of(form_of(step).operand);
    }
    std::vector<float> b(n * k);  // by columns of the result; every type's values are floats
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n * k; ++i) {
        b[i] = static_cast<float>(in.at(weights, by_rows ? i : i % k * n + i / k));
    }
    return each_row(rows, n, [&](std::int64_t row, std::span<double> its) {
        std::vector<double> x(k);
        for (std::int64_t i = 0; i < k; ++i) {
            x[i] = in.at(0, row * k + i);
        }
        std::size_t operand = 1;
        for (const RowStep step : parts.before) {
            run.apply(step, row, operand, x);
            operand += tensors_of(form_of(step).operand);
        }
        std::vector<double> y(n);
        for (std::int64_t c = 0; c < n; ++c) {
            double sum = 0;
            for (std::int64_t i = 0; i < k; ++i) {
                sum = round(sum + enters(x[i]) * static_cast<double>(b[c * k + i]));
            }
            y[c] = sum;
        }
        operand = weights + 1;
        for (const RowStep step : parts.after) {
            run.apply(step, row, operand, y);
            operand += tensors_of(form_of(step).operand);
        }
        std::ranges::copy(y, its.begin());
    });
}

struct RoundTo {
    Rounding type;
    double operator()(double x) const { return round_to(x, type); }
};

std::vector<double> answer(const Workload& w, const OperationData& in, std::size_t /*tensor*/,
                           std::span<const std::int64_t> rows) {
    const auto exact = [](double x) { return x; };
    return values(w, in, rows, exact, exact);
}

std::vector<double> rounded(const Workload& w, const OperationData& in, std::size_t /*tensor*/,
                            std::span<const std::int64_t> rows, const Precision& precision) {
    std::vector<double> all =
        values(w, in, rows, RoundTo{precision.accumulators}, RoundTo{precision.products});
    for (double& x : all) {
        x = round_to(x, precision.output);
    }
    return all;
}

std::byte* some_row(const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
    const auto row = static_cast<std::int64_t>(random_below(stream_key(seed, 0), 0, w.extent("m")));
    return outputs[0].data() + row * w.extent("n") * static_cast<std::int64_t>(bytes_of(w.dtype));
}

constexpr std::array mutations{
    // As if a part of the sum had been left out.
    Mutation{"row_too_large",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 std::byte* row = some_row(w, outputs, seed);
                 for (std::int64_t i = 0; i < w.extent("n"); ++i) {
                     store_element(row, w.dtype, i, 1.03 * load_element(row, w.dtype, i));
                 }
             }},
    Mutation{"columns_shifted", [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 std::byte* row = some_row(w, outputs, seed);
                 const auto bytes = static_cast<std::int64_t>(bytes_of(w.dtype));
                 std::rotate(row, row + bytes, row + bytes * w.extent("n"));
             }}};

double operations(const Workload& w) {
    const Parts parts = parts_of(w);
    const auto sum = [](std::span<const RowStep> steps) {
        double each = 0;
        for (const RowStep step : steps) {
            each += form_of(step).operations;
        }
        return each;
    };
    const auto m = static_cast<double>(w.extent("m"));
    const auto n = static_cast<double>(w.extent("n"));
    const auto k = static_cast<double>(w.extent("k"));
    return 2 * m * n * k + m * k * sum(parts.before) + m * n * sum(parts.after);
}

const OperationRecord record = with_matrix_products(
    with_chain(record_of("linear", "a matrix product, with steps before and after it",
                         {examples, fields, draws, mutations},
                         {validate, tensors, normal_inputs, answer, rounded, operations}),
               form, codes));

}  // namespace
}  // namespace raceline::operations::linear

RACELINE_OPERATION(linear, record)
