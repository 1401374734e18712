// SPDX-License-Identifier: Apache-2.0
// A chain of steps on each row of a matrix: elementwise functions, sums and products with other
// matrices, bias and gain, softmax, RMS and layer norm, rotary embedding. One step is a chain, too.
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

namespace raceline::operations::rows {
namespace {

constexpr std::string_view chain_field = "steps";
constexpr std::string_view usual_head = "128", usual_eps = "1e-05";
constexpr std::array fields{
    OperationField{chain_field, "what is done to each row", FieldKind::chain},
    OperationField{"n", "rows x width of the matrix", FieldKind::grid},
    OperationField{"d", "head dim of rope", FieldKind::count, usual_head},
    OperationField{"eps", "what a norm adds to the variance", FieldKind::real, usual_eps}};
constexpr std::array draws{Draw::plain, Draw::outliers, Draw::biased, Draw::non_finite};

constexpr std::array<std::string_view, 10> examples{"op=rmsnorm,n=7x200",
                                                    "op=softmax,n=7x200",
                                                    "op=layernorm,n=3x129,eps=0.001",
                                                    "op=add+store+rmsnorm,n=5x64",
                                                    "op=silu+mul,n=2x333",
                                                    "op=bias+gelu,n=3x77",
                                                    "op=rmsnorm+rope,n=9x128,d=64",
                                                    "op=sub+square+gain+relu,n=4x50",
                                                    "op=sigmoid+tanh+exp,n=4x50",
                                                    "op=rope,n=4x256"};

std::vector<RowStep> chain_of(const Workload& w) {
    const std::vector<std::string_view> names = steps_of(w.word(chain_field));
    std::vector<RowStep> chain;
    chain.reserve(names.size());
    for (const std::string_view name : names) {
        const RowStepForm* form = find_row_step(name);
        require(form != nullptr, Status::invalid_argument, "'{}' is no step of a chain",
                name.substr(0, 40));
        chain.push_back(form->step);
    }
    return chain;
}

bool has(std::span<const RowStep> chain, RowStep step) {
    return std::ranges::find(chain, step) != chain.end();
}

bool is_row_chain(std::span<const std::string_view> chain) {
    return std::ranges::all_of(
        chain, [](std::string_view step) { return find_row_step(step) != nullptr; });
}

std::string why_not(std::span<const std::string_view> chain) {
    if (chain.size() > longest_row_chain) {
        return fmt::format("it has {} steps, and a chain at most {}", chain.size(),
                           longest_row_chain);
    }
    if (chain.front() == "store" || chain.back() == "store") {
        return "store writes what stands between two steps, so one stands before it and one behind";
    }
    return {};
}
constexpr ChainForm form{row_step_names, is_row_chain, why_not};

void validate(const Workload& w) {
    const std::vector<RowStep> chain = chain_of(w);
    require(w.extent(grid_rows) >= 1 && w.extent(grid_width) >= 1, Status::invalid_argument,
            "n is {}x{}: a matrix has 1 row and 1 column or more", w.extent(grid_rows),
            w.extent(grid_width));
    require(w.dtype == DType::fp32 || w.dtype == DType::fp16 || w.dtype == DType::bf16,
            Status::invalid_argument, "dtype is {}: chains of rows take fp32, fp16 or bf16",
            name_of(w.dtype));
    const std::int64_t d = w.extent("d");
    if (has(chain, RowStep::rope)) {
        require(d >= 2 && d % 2 == 0 && w.extent(grid_width) % d == 0, Status::invalid_argument,
                "rope turns heads of d = {} columns: d must be even, and the width {} a multiple "
                "of it",
                d, w.extent(grid_width));
    } else {
        require(fmt::format("{}", d) == usual_head, Status::invalid_argument,
                "d is {}: only rope has heads, leave it out", d);
    }
    const bool norm = has(chain, RowStep::rmsnorm) || has(chain, RowStep::layernorm);
    require(norm ? w.scalar("eps") >= 0 : fmt::format("{}", w.scalar("eps")) == usual_eps,
            Status::invalid_argument, "eps is {}: {}", w.scalar("eps"),
            norm ? "it must be 0 or more" : "only norms have one, leave it out");
    require(!has(chain, RowStep::layernorm) || w.extent(grid_width) > 1 || w.scalar("eps") > 0,
            Status::invalid_argument,
            "eps is 0 where a row is one number: its variance is 0, and layernorm divides by it");
}

std::vector<TensorSpec> tensors(const Workload& w) {
    const std::int64_t rows = w.extent(grid_rows);
    const std::int64_t width = w.extent(grid_width);
    std::vector<TensorSpec> list{{"x", w.dtype, rows, width}};
    for (const RowStep step : chain_of(w)) {
        const RowStepForm& its = form_of(step);
        switch (its.operand) {
            case RowOperand::none: break;
            case RowOperand::matrix: list.push_back({its.name, w.dtype, rows, width}); break;
            case RowOperand::vector: list.push_back({its.name, w.dtype, 1, width}); break;
            case RowOperand::two_vectors:
                list.push_back({"gain", w.dtype, 1, width});
                list.push_back({"bias", w.dtype, 1, width});
                break;
            case RowOperand::angles:
                list.push_back({"angles", DType::fp32, rows, w.extent("d")});
                break;
            case RowOperand::result: list.push_back({"stored", w.dtype, rows, width, true}); break;
        }
    }
    list.push_back({"y", w.dtype, rows, width, true});
    require(list.size() <= OperationArgs::most, Status::invalid_argument,
            "the chain has {} tensors: {} is the most", list.size(), OperationArgs::most);
    return list;
}

/// What bytes_of_inputs says of all tensors, without the list of them: it is asked often.
double bytes_read(const Workload& w) {
    const auto width = static_cast<double>(w.extent(grid_width));
    const auto rows = static_cast<double>(w.extent(grid_rows));
    const double element = bytes_of(w.dtype);
    double bytes = rows * width * element;
    for (const RowStep step : chain_of(w)) {
        switch (form_of(step).operand) {
            case RowOperand::matrix: bytes += rows * width * element; break;
            case RowOperand::vector: bytes += width * element; break;
            case RowOperand::two_vectors: bytes += 2 * width * element; break;
            case RowOperand::angles:
                bytes += rows * static_cast<double>(w.extent("d")) * bytes_of(DType::fp32);
                break;
            case RowOperand::none:
            case RowOperand::result: break;
        }
    }
    return bytes;
}

double bytes_written(const Workload& w) {
    const std::vector<RowStep> chain = chain_of(w);
    const auto results = 1 + std::count(chain.begin(), chain.end(), RowStep::store);
    return static_cast<double>(results) * static_cast<double>(w.extent(grid_rows)) *
           static_cast<double>(w.extent(grid_width)) * bytes_of(w.dtype);
}

std::vector<std::int32_t> codes(const Workload& w) {
    std::vector<std::int32_t> list;
    for (const RowStep step : chain_of(w)) {
        list.push_back(static_cast<std::int32_t>(step));
    }
    return list;
}

/// Row r is at position r: cosines of d / 2 angles, then their sines.
void fill_angles(std::vector<std::byte>& data, std::int64_t rows, std::int64_t d) {
    constexpr double base = 10000;
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < d / 2; ++i) {
            const double angle =
                static_cast<double>(row) *
                std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(d));
            store_element(data.data(), DType::fp32, row * d + i, std::cos(angle));
            store_element(data.data(), DType::fp32, row * d + d / 2 + i, std::sin(angle));
        }
    }
}

// Exponentials of outliers would leave the range of fp16.
constexpr double before_exp = 0.25;

OperationData inputs(const Workload& w, std::uint64_t seed, Draw draw) {
    OperationData in = normal_inputs(w, seed, draw);
    for (std::size_t i = 0; i < in.tensors.size(); ++i) {
        if (in.tensors[i].name == "angles") {
            fill_angles(in.data[i], w.extent(grid_rows), w.extent("d"));
        }
    }
    if (has(chain_of(w), RowStep::exp)) {
        std::byte* x = in.data.front().data();
        for (std::int64_t i = 0; i < in.tensors.front().elements(); ++i) {
            store_element(x, w.dtype, i, before_exp * load_element(x, w.dtype, i));
        }
    }
    return in;
}

constexpr auto values = [](const Workload& w, const OperationData& in, std::size_t tensor,
                           std::int64_t row, const auto& round, std::span<double> its) {
    const RowAnswer run(in, round, w.extent("d"), w.scalar("eps"));
    std::vector<double> x(its.size());
    for (std::int64_t i = 0; i < std::ssize(x); ++i) {
        x[i] = in.at(0, row * std::ssize(x) + i);
    }
    std::size_t next = 1;
    for (const RowStep step : chain_of(w)) {
        if (step == RowStep::store && next == tensor) {
            break;
        }
        run.apply(step, row, next, x);
        next += tensors_of(form_of(step).operand);
    }
    std::ranges::copy(x, its.begin());
};

/// The last output, and where its row `row` begins.
std::byte* row_of(const Workload& w, StoredOutputs& outputs, std::int64_t row) {
    return outputs.back().data() +
           static_cast<std::int64_t>(bytes_of(w.dtype)) * row * w.extent(grid_width);
}

std::int64_t some_row(const Workload& w, std::uint64_t seed) {
    return static_cast<std::int64_t>(random_below(stream_key(seed, 0), 0, w.extent(grid_rows)));
}

// A statistic that another row has, or a sum that stops early, makes a row too large or too small.
void scale_row(const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
    std::byte* row = row_of(w, outputs, some_row(w, seed));
    for (std::int64_t i = 0; i < w.extent(grid_width); ++i) {
        store_element(row, w.dtype, i, 1.03 * load_element(row, w.dtype, i));
    }
}

void lose_tail(const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
    std::byte* row = row_of(w, outputs, some_row(w, seed));
    const std::int64_t width = w.extent(grid_width);
    for (std::int64_t i = std::max<std::int64_t>(0, width - 4); i < width; ++i) {
        store_element(row, w.dtype, i, 0);
    }
}

void turn_row(const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
    std::byte* row = row_of(w, outputs, some_row(w, seed));
    const auto bytes = static_cast<std::int64_t>(bytes_of(w.dtype));
    std::rotate(row, row + bytes, row + bytes * w.extent(grid_width));
}

constexpr std::array mutations{Mutation{"row_too_large", scale_row},
                               Mutation{"tail_lost", lose_tail},
                               Mutation{"columns_shifted", turn_row}};

double operations(const Workload& w) {
    double each = 0;
    for (const RowStep step : chain_of(w)) {
        each += form_of(step).operations;
    }
    return each * static_cast<double>(w.extent(grid_rows)) *
           static_cast<double>(w.extent(grid_width));
}

const OperationRecord record =
    with_chain(record_of("rows", "a chain of steps on each row of a matrix",
                         {examples, fields, draws, mutations},
                         {validate, tensors, inputs, answer_by_rows<values>,
                          rounded_by_rows<values>, operations, bytes_read, bytes_written}),
               form, codes);

}  // namespace
}  // namespace raceline::operations::rows

RACELINE_OPERATION(rows, record)
