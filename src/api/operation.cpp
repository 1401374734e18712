// SPDX-License-Identifier: Apache-2.0
#include "raceline/operation.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "api/engine_choice.hpp"
#include "api/refusal.hpp"
#include "api/tensor_checks.hpp"
#include "registry/registry.hpp"
#include "run/operation_gate.hpp"
#include "support/check.hpp"
#include "workload/operation.hpp"
#include "workload/operation_shape.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using api::bad;

OperationTensorInfo info_of(const TensorSpec& tensor) {
    return {std::string(tensor.name),
            tensor.dtype,
            tensor.indices_below > 0,
            tensor.output,
            tensor.rows,
            tensor.width};
}

}  // namespace

struct Operation::State {
    Workload workload;
    Place place;
    const Device* device;
    const Kernel* kernel;
    int tile;
    std::size_t workspace_bytes;
    std::vector<OperationTensorInfo> tensors;
};

std::size_t OperationTensorInfo::bytes() const {
    return static_cast<std::size_t>(static_cast<double>(rows * width) * bytes_of(dtype));
}

Operation::Operation(const std::string& shape, Place place, const std::string& backend, int threads)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.workload = parse_shape(shape);
    require(!s.workload.is_attention(), bad,
            "{} is attention, which has calls of its own: forward and decode",
            format_shape(s.workload));
    s.place = place;
    s.device = &api::device_of(place, threads);
    const api::EngineChoice choice =
        api::choose_engine(s.workload, *s.device, threads, {.backend = backend});
    s.kernel = choice.kernel;
    s.tile = choice.tile;
    s.workspace_bytes = s.kernel->workspace(s.workload, s.tile, *s.device);
    for (const TensorSpec& tensor : find_operation(s.workload.op).tensors(s.workload)) {
        s.tensors.push_back(info_of(tensor));
    }
}

Operation::~Operation() = default;
Operation::Operation(Operation&&) noexcept = default;
Operation& Operation::operator=(Operation&&) noexcept = default;

const std::vector<OperationTensorInfo>& Operation::tensors() const {
    return state_->tensors;
}

std::string_view Operation::kernel() const {
    return state_->kernel->name;
}

std::size_t Operation::workspace_bytes() const {
    return state_->workspace_bytes;
}

void Operation::run(std::span<void* const> addresses, const Execution& execution) const {
    const State& s = *state_;
    require(execution.place == s.place, bad,
            "the operation was made for place {}, and is run on place {}",
            static_cast<int>(s.place), static_cast<int>(execution.place));
    require(addresses.size() == s.tensors.size(), bad, "{} addresses were given; {} has {} tensors",
            addresses.size(), name_of_operation(s.workload), s.tensors.size());
    std::array<api::MemoryRange, OperationArgs::most> ranges{};
    for (std::size_t i = 0; i < s.tensors.size(); ++i) {
        const OperationTensorInfo& tensor = s.tensors[i];
        ranges[i] = api::check_array(tensor.name, addresses[i],
                                     static_cast<std::int64_t>(tensor.bytes()), 1);
    }
    for (std::size_t i = 0; i < s.tensors.size(); ++i) {
        for (std::size_t j = 0; s.tensors[i].output && j < s.tensors.size(); ++j) {
            if (i != j) {
                api::check_apart(ranges[i], {ranges[j]});
            }
        }
    }
    require(execution.workspace_bytes >= s.workspace_bytes &&
                (s.workspace_bytes == 0 || execution.workspace != nullptr),
            bad, "the workspace has {} bytes; {} needs {}", execution.workspace_bytes,
            s.kernel->name, s.workspace_bytes);
    std::vector<void*> writable(addresses.begin(), addresses.end());
    s.kernel->enqueue(make_operation_args(s.workload, writable), s.tile, *s.device,
                      execution.workspace, s.place == Place::cuda ? execution.stream : nullptr);
}

std::string Operation::check(std::span<const void* const> addresses, std::uint64_t seed,
                             double* relative_rms, double* bound) const {
    const State& s = *state_;
    require(addresses.size() == s.tensors.size(), bad, "{} addresses were given; {} has {} tensors",
            addresses.size(), name_of_operation(s.workload), s.tensors.size());
    OperationData data{seed, Draw::plain, find_operation(s.workload.op).tensors(s.workload), {}};
    std::vector<std::span<const std::byte>> outputs;
    for (std::size_t i = 0; i < s.tensors.size(); ++i) {
        const std::size_t bytes = s.tensors[i].bytes();
        api::check_array(s.tensors[i].name, addresses[i], static_cast<std::int64_t>(bytes), 1);
        const auto* const from = static_cast<const std::byte*>(addresses[i]);
        if (s.tensors[i].output) {
            data.data.emplace_back();
            outputs.emplace_back(from, bytes);
        } else {
            data.data.emplace_back(from, from + bytes);
        }
    }
    OperationAnswers answers(s.workload, std::move(data));
    const Correctness verdict = answers.judge(s.kernel->precision(s.workload), outputs);
    if (relative_rms != nullptr) {
        *relative_rms = verdict.relative_rms;
    }
    if (bound != nullptr) {
        *bound = verdict.bound;
    }
    return verdict.passed ? "" : verdict.why;
}

}  // namespace raceline
