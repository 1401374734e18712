// SPDX-License-Identifier: Apache-2.0
// What a Python function passed on to a call: tensors as read_tensor takes them, options as they
// came.
#pragma once

#include <array>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <span>

#include "raceline/raceline.hpp"
#include "tensor.hpp"

namespace raceline::python {

/// The arguments of all calls, by their names in Python.
enum class Argument : std::uint8_t {
    q,
    k,
    v,
    k_cache,
    v_cache,
    out_parts,
    lse_parts,
    sinks,
    tree,
    block_table,
    seqlens,
    max_seqlen,
    cu_seqlens_q,
    cu_seqlens_k,
    device_cu_seqlens_q,
    device_cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    q_scale,
    k_scale,
    v_scale,
    causal,
    window,
    scale,
    softcap,
    backend,
    accuracy,
    checked,
    count
};

const char* name_of(Argument argument);

/// Borrowed: whoever makes one keeps the arguments alive.
class Inputs {
public:
    /// By name. stream: what memory must be ready on, None: host memory.
    Inputs(nb::handle dict, nb::handle stream);
    /// By position.
    Inputs(std::span<const Argument> order, std::span<PyObject* const> values);

    /// None too for what was not given.
    [[nodiscard]] nb::handle at(Argument argument) const {
        return given_[static_cast<std::size_t>(argument)];
    }
    [[nodiscard]] bool has(Argument argument) const { return !at(argument).is_none(); }
    /// TypeError, naming the argument, for None.
    [[nodiscard]] Tensor tensor(Argument argument) const;
    [[nodiscard]] AttentionOptions options() const;

private:
    std::array<PyObject*, static_cast<std::size_t>(Argument::count)> given_{};
    nb::handle stream_ = Py_None;
};

}  // namespace raceline::python
