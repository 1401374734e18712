// SPDX-License-Identifier: Apache-2.0
#include "run/operation_arena.hpp"

#include <cstdint>

#include "run/cuda_arena.hpp"
#include "run/gate.hpp"
#include "support/check.hpp"
#include "support/rounding.hpp"

namespace raceline {
namespace {

constexpr std::size_t tensor_alignment = 256;  // as cudaMalloc gives

std::vector<std::size_t> offsets_of(std::span<const TensorSpec> tensors) {
    std::vector<std::size_t> offsets{0};
    for (const TensorSpec& tensor : tensors) {
        const std::size_t end = offsets.back() + tensor.bytes() + red_zone_bytes;
        offsets.push_back(round_up(end, tensor_alignment));
    }
    return offsets;
}

}  // namespace

std::size_t OperationArena::set_bytes(std::span<const TensorSpec> tensors) {
    return offsets_of(tensors).back();
}

OperationArena::OperationArena(const OperationAnswers& answers, int count)
    : answers_(answers),
      offsets_(offsets_of(answers.inputs().tensors)),
      memory_(offsets_.back() * static_cast<std::size_t>(count)) {
    cuda::fill(memory_.data(), output_poison, memory_.bytes());
    const OperationData& in = answers.inputs();
    for (std::size_t i = 0; i < in.data.size(); ++i) {
        for (int index = 0; index < count && !in.data[i].empty(); ++index) {
            if (index == 0) {
                cuda::upload(at(0, i), in.data[i].data(), in.data[i].size());
            } else {
                cuda::copy(at(index, i), at(0, i), in.data[i].size());
            }
        }
    }
}

std::byte* OperationArena::at(int index, std::size_t tensor) const {
    return memory_.data() + offsets_.back() * static_cast<std::size_t>(index) + offsets_[tensor];
}

OperationArgs OperationArena::args(int index) const {
    std::vector<void*> addresses;
    for (std::size_t i = 0; i + 1 < offsets_.size(); ++i) {
        addresses.push_back(at(index, i));
    }
    return make_operation_args(answers_.workload(), addresses);
}

StoredOutputs OperationArena::outputs(int index) const {
    StoredOutputs stored;
    const std::vector<TensorSpec>& tensors = answers_.inputs().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].output) {
            std::vector<std::byte>& bytes = stored.emplace_back(tensors[i].bytes());
            cuda::download(bytes.data(), at(index, i), bytes.size());
        }
    }
    return stored;
}

bool OperationArena::same_outputs(int index, int other) const {
    std::vector<SamePlaces> outputs;
    const std::vector<TensorSpec>& tensors = answers_.inputs().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].output) {
            outputs.push_back({at(index, i), at(other, i), tensors[i].bytes()});
        }
    }
    return equal_on_device(outputs);
}

std::string OperationArena::overrun(int index) const {
    const std::vector<TensorSpec>& tensors = answers_.inputs().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].output && !red_zone_intact(at(index, i) + tensors[i].bytes())) {
            return fmt::format("it wrote past the end of output '{}'", tensors[i].name);
        }
    }
    return {};
}

}  // namespace raceline
