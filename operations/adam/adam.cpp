// SPDX-License-Identifier: Apache-2.0
// One step of Adam with decoupled weight decay (Kingma and Ba, 2015; Loshchilov and Hutter, 2019):
// parameters and both moments are read and written once. With a master copy in fp32 the step reads
// and writes that one, and writes the parameters in their own type, as mixed precision does.
#include <array>
#include <cmath>

#include "support/check.hpp"
#include "workload/answer_by_rows.hpp"
#include "workload/inputs.hpp"
#include "workload/normal.hpp"
#include "workload/operation.hpp"
#include "workload/oracle.hpp"

namespace raceline::operations::adam {
namespace {

constexpr std::array<std::string_view, 2> state_types{"fp32", "bf16"};
constexpr std::array<std::string_view, 2> masters{"none", "fp32"};
constexpr std::array fields{
    OperationField{"n", "rows x width of the parameters", FieldKind::grid},
    OperationField{"state", "type of both moments", FieldKind::word, "fp32", state_types},
    OperationField{"master", "a copy of the parameters in fp32, or none", FieldKind::word, "none",
                   masters},
    OperationField{"lr", "learning rate", FieldKind::real, "0.001"},
    OperationField{"beta1", "decay of the first moment", FieldKind::real, "0.9"},
    OperationField{"beta2", "decay of the second moment", FieldKind::real, "0.999"},
    OperationField{"eps", "what is added to the root of the second moment", FieldKind::real,
                   "1e-08"},
    OperationField{"decay", "decoupled weight decay", FieldKind::real, "0.01"},
    OperationField{"step", "how many steps there were, this one included", FieldKind::count, "10"}};
constexpr std::array draws{Draw::plain, Draw::outliers, Draw::biased, Draw::non_finite};
constexpr std::array<std::string_view, 3> examples{"op=adam,n=5x60", "op=adam,n=3x70,state=bf16",
                                                   "op=adam,n=4x33,master=fp32,decay=0"};

enum Tensor : std::size_t {
    parameter,
    gradient,
    first,
    second,
    new_parameter,
    new_first,
    new_second,
    new_master
};

bool has_master(const Workload& w) {
    return w.word("master") == "fp32";
}

void validate(const Workload& w) {
    require(w.extent(grid_rows) >= 1 && w.extent(grid_width) >= 1, Status::invalid_argument,
            "n is {}x{}: there is 1 parameter or more", w.extent(grid_rows), w.extent(grid_width));
    require(w.dtype == DType::fp32 || w.dtype == DType::bf16, Status::invalid_argument,
            "dtype is {}: adam takes parameters and gradients in fp32 or bf16", name_of(w.dtype));
    for (const char* name : {"beta1", "beta2"}) {
        require(w.scalar(name) >= 0 && w.scalar(name) < 1, Status::invalid_argument,
                "{} is {}: it must be 0 or more and below 1", name, w.scalar(name));
    }
    require(w.scalar("eps") > 0, Status::invalid_argument, "eps is {}: it must be over 0",
            w.scalar("eps"));
    require(w.extent("step") >= 1, Status::invalid_argument, "step is 0: the first one is 1");
}

std::vector<TensorSpec> tensors(const Workload& w) {
    const std::int64_t rows = w.extent(grid_rows);
    const std::int64_t width = w.extent(grid_width);
    const DType state = w.word("state") == "bf16" ? DType::bf16 : DType::fp32;
    const DType read = has_master(w) ? DType::fp32 : w.dtype;
    return {{"parameter", read, rows, width},
            {"gradient", w.dtype, rows, width},
            {"first", state, rows, width},
            {"second", state, rows, width},
            {"new_parameter", w.dtype, rows, width, true},
            {"new_first", state, rows, width, true},
            {"new_second", state, rows, width, true},
            {"new_master", DType::fp32, has_master(w) ? rows : 0, width, true}};
}

// Moments as steps before this one would have left them: the second is never negative.
OperationData inputs(const Workload& w, std::uint64_t seed, Draw draw) {
    OperationData in = normal_inputs(w, seed, draw);
    const DType state = in.tensors[first].dtype;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < in.tensors[first].elements(); ++i) {
        const double m = load_element(in.data[first].data(), state, i);
        const double v = load_element(in.data[second].data(), state, i);
        store_element(in.data[first].data(), state, i, 0.25 * m);
        store_element(in.data[second].data(), state, i, v * v);
    }
    return in;
}

template <class Round>
double value(const Workload& w, const OperationData& in, std::size_t tensor, std::int64_t i,
             const Round& r) {
    const double beta1 = r(w.scalar("beta1"));
    const double beta2 = r(w.scalar("beta2"));
    const double g = in.at(gradient, i);
    const double m = r(r(beta1 * in.at(first, i)) + r(r(1 - beta1) * g));
    const double v = r(r(beta2 * in.at(second, i)) + r(r(1 - beta2) * r(g * g)));
    if (tensor == new_first || tensor == new_second) {
        return tensor == new_first ? m : v;
    }
    const auto step = static_cast<double>(w.extent("step"));
    const double rate = r(w.scalar("lr") / (1 - std::pow(w.scalar("beta1"), step)));
    const double unbias = r(1 / std::sqrt(1 - std::pow(w.scalar("beta2"), step)));
    const double old = in.at(parameter, i);
    const double root = r(r(r(std::sqrt(v)) * unbias) + r(w.scalar("eps")));
    const double kept = r(r(1 - r(w.scalar("lr") * w.scalar("decay"))) * old);
    return r(kept - r(rate * r(m / root)));
}

constexpr auto values = [](const Workload& w, const OperationData& in, std::size_t tensor,
                           std::int64_t row, const auto& round, std::span<double> its) {
    const std::int64_t width = std::ssize(its);
    for (std::int64_t c = 0; c < width; ++c) {
        its[c] = value(w, in, tensor, row * width + c, round);
    }
};

std::size_t some_element(const Workload& w, std::uint64_t seed) {
    const auto count = static_cast<std::uint64_t>(w.extent(grid_rows) * w.extent(grid_width));
    return random_below(stream_key(seed, 0), 0, count);
}

constexpr std::array mutations{
    Mutation{"element_lost",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 store_element(outputs[0].data(), w.dtype, some_element(w, seed), 0);
             }},
    // As if the step had gone uphill.
    Mutation{"moment_of_other_sign",
             [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 const DType state = w.word("state") == "bf16" ? DType::bf16 : DType::fp32;
                 const std::size_t at = some_element(w, seed);
                 std::byte* m = outputs[1].data();
                 store_element(m, state, at, -load_element(m, state, at));
             }},
    Mutation{"no_second_moment", [](const Workload& w, StoredOutputs& outputs, std::uint64_t seed) {
                 const DType state = w.word("state") == "bf16" ? DType::bf16 : DType::fp32;
                 std::byte* v = outputs[2].data();
                 const std::size_t at = some_element(w, seed);
                 store_element(v, state, at, load_element(v, state, at) + 0.5);
             }}};

/// Both moments 3 and 4 operations, their quotient 4, the parameter 3.
double operations(const Workload& w) {
    return 14.0 * static_cast<double>(w.extent(grid_rows)) *
           static_cast<double>(w.extent(grid_width));
}

const OperationRecord record = record_of(
    "adam", "one step of Adam with decoupled weight decay", {examples, fields, draws, mutations},
    {validate, tensors, inputs, answer_by_rows<values>, rounded_by_rows<values>, operations});

}  // namespace
}  // namespace raceline::operations::adam

RACELINE_OPERATION(adam, record)
