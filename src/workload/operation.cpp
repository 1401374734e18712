// SPDX-License-Identifier: Apache-2.0
#include "workload/operation.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline {
namespace {

double bytes_of_tensors(const Workload& w, bool outputs) {
    double bytes = 0;
    for (const TensorSpec& tensor : find_operation(w.op).tensors(w)) {
        bytes += tensor.output == outputs ? static_cast<double>(tensor.bytes()) : 0;
    }
    return bytes;
}

const OperationRecord* operation_called(std::string_view name) {
    for (const OperationRecord* operation : all_operations()) {
        if (operation->name.value == name) {
            return operation;
        }
    }
    return nullptr;
}

/// One that has a chain is written as the steps of it, and not by the name of its folder.
std::vector<std::string_view> names_of_operations() {
    std::vector<std::string_view> names;
    for (const OperationRecord* operation : all_operations()) {
        if (operation->chain == nullptr) {
            names.push_back(operation->name.value);
        }
    }
    return names;
}

/// Without what a person may write otherwise: small, no hyphens, no underscores.
std::string letters_of(std::string_view name) {
    std::string letters;
    for (const char c : name) {
        if (c != '-' && c != '_') {
            letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return letters;
}

/// Of all operations that have a chain.
std::vector<std::string_view> names_of_steps() {
    std::vector<std::string_view> names;
    for (const OperationRecord* operation : all_operations()) {
        if (operation->chain != nullptr) {
            names.insert(names.end(), operation->chain->steps.begin(),
                         operation->chain->steps.end());
        }
    }
    return names;
}

/// The field's other words for what is among `names`: they are offered, not taken. "": none.
std::string_view by_another_name(std::string_view name, std::span<const std::string_view> names) {
    using Pair = std::pair<std::string_view, std::string_view>;
    static constexpr std::array<Pair, 10> pairs{{{"rotary", "rope"},
                                                 {"rotaryembedding", "rope"},
                                                 {"residual", "add"},
                                                 {"swish", "silu"},
                                                 {"scale", "gain"},
                                                 {"ln", "layernorm"},
                                                 {"mm", "gemm"},
                                                 {"dense", "linear"},
                                                 {"lookup", "embedding"},
                                                 {"nll", "crossentropy"}}};
    const auto pair = std::ranges::find(pairs, letters_of(name), &Pair::first);
    const bool known = pair != pairs.end() && std::ranges::find(names, pair->second) != names.end();
    return known ? pair->second : "";
}

[[noreturn]] void refuse_name(std::string_view name, std::span<const std::string_view> names) {
    const std::string_view other = by_another_name(name.substr(0, 40), names);
    const std::string_view near = other.empty() ? nearest(name.substr(0, 40), names) : other;
    fail(Status::invalid_argument, "operation '{}' does not exist; {}there are: {}",
         name.substr(0, 40), near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
         fmt::join(names, " "));
}

/// `in_chain`: among others. A step alone may be meant as an operation that has no chain.
void require_known(std::string_view step, bool in_chain) {
    std::vector<std::string_view> names = names_of_steps();
    if (std::ranges::find(names, step) != names.end()) {
        return;
    }
    const bool operation = operation_called(step) != nullptr;
    require(!in_chain || !operation, Status::invalid_argument,
            "'{}' is an operation by itself and no step of a chain; steps are: {}", step,
            fmt::join(names, " "));
    std::vector<std::string_view> all = names_of_operations();
    all.insert(all.end(), names.begin(), names.end());
    refuse_name(step, all);
}

[[noreturn]] void refuse_chain(std::string_view text, std::span<const std::string_view> steps) {
    fail(Status::invalid_argument, "no operation has the steps {} of '{}' in one chain",
         fmt::join(steps, ", "), text.substr(0, 80));
}

}  // namespace

std::uint64_t TensorSpec::bytes() const {
    return static_cast<std::uint64_t>(static_cast<double>(elements()) * bytes_of(dtype));
}

const OperationRecord& find_operation(std::string_view name) {
    if (const OperationRecord* found = operation_called(name)) {
        return *found;
    }
    refuse_name(name, names_of_operations());
}

std::vector<std::string_view> steps_of(std::string_view chain) {
    std::vector<std::string_view> steps;
    steps.reserve(static_cast<std::size_t>(std::count(chain.begin(), chain.end(), '+')) + 1);
    for (std::size_t from = 0; from <= chain.size();) {
        const std::size_t to = std::min(chain.find('+', from), chain.size());
        steps.push_back(chain.substr(from, to - from));
        from = to + 1;
    }
    return steps;
}

NamedOperation named_operation(std::string_view text) {
    const OperationRecord* found = operation_called(text);
    if (found != nullptr && found->chain == nullptr) {
        return {found, {}};
    }
    const std::vector<std::string_view> steps = steps_of(text);
    for (const std::string_view step : steps) {
        require(!step.empty() || steps.size() == 1, Status::invalid_argument,
                "the chain '{}' has an empty step: between two '+', or before or behind one",
                text.substr(0, 80));
        require_known(step, steps.size() > 1);
    }
    for (const OperationRecord* operation : all_operations()) {
        if (operation->chain == nullptr || !operation->chain->claims(steps)) {
            continue;
        }
        const std::string reason = operation->chain->why_not(steps);
        require(reason.empty(), Status::invalid_argument, "the chain '{}' cannot be fused: {}",
                text.substr(0, 80), reason);
        return {operation, text};
    }
    refuse_chain(text, steps);
}

std::string spelled_operation(std::string_view text) {
    std::vector<std::string_view> names = names_of_operations();
    const std::vector<std::string_view> steps = names_of_steps();
    names.insert(names.end(), steps.begin(), steps.end());
    std::string spelled;
    for (const std::string_view step : steps_of(text)) {
        const std::string word = letters_of(step);
        const auto named = std::ranges::find(names, word, letters_of);
        const bool product = word == "matmul" || word == "gemm";
        spelled += named != names.end() ? *named : product ? std::string_view("linear") : step;
        spelled += '+';
    }
    spelled.pop_back();
    return spelled;
}

std::span<const Draw> draws_of(const Workload& workload) {
    return find_operation(workload.op).draws.value;
}

double bytes_of_inputs(const Workload& workload) {
    return bytes_of_tensors(workload, false);
}

double bytes_of_outputs(const Workload& workload) {
    return bytes_of_tensors(workload, true);
}

OperationArgs make_operation_args(const Workload& w, std::span<void* const> addresses) {
    const OperationRecord& operation = find_operation(w.op);
    OperationArgs args;
    std::size_t at = 0;
    for (const TensorSpec& tensor : operation.tensors(w)) {
        args.tensors.at(at) = {addresses[at], tensor.rows, tensor.width, tensor.dtype};
        ++at;
    }
    std::size_t extents = 0;
    std::size_t scalars = 0;
    for (const OperationField& field : operation.fields.value) {
        if (field.kind == FieldKind::count) {
            args.extents.at(extents++) = w.extent(field.name);
        } else if (field.kind == FieldKind::grid) {
            args.extents.at(extents++) = w.extent(grid_rows);
            args.extents.at(extents++) = w.extent(grid_width);
        } else if (field.kind == FieldKind::real) {
            args.scalars.at(scalars++) = w.scalar(field.name);
        }
    }
    args.dtype = w.dtype;
    if (operation.codes != nullptr) {
        for (const std::int32_t code : operation.codes(w)) {
            args.codes.at(static_cast<std::size_t>(args.code_count++)) = code;
        }
    }
    return args;
}

}  // namespace raceline
