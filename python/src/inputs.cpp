// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <fmt/format.h>

#include "options.hpp"

namespace raceline::python {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Argument::count)> names{
    "q",
    "k",
    "v",
    "k_cache",
    "v_cache",
    "out_parts",
    "lse_parts",
    "sinks",
    "tree",
    "block_table",
    "seqlens",
    "max_seqlen",
    "cu_seqlens_q",
    "cu_seqlens_k",
    "device_cu_seqlens_q",
    "device_cu_seqlens_k",
    "max_seqlen_q",
    "max_seqlen_k",
    "q_scale",
    "k_scale",
    "v_scale",
    "causal",
    "window",
    "scale",
    "softcap",
    "backend",
    "accuracy",
    "checked",
};
static_assert(names.back() != nullptr, "every argument has a name");

using Texts = std::array<PyObject*, names.size()>;

/// The names as Python's texts, made once: they are looked up in every call.
const Texts& texts() {
    static const Texts made = [] {
        Texts all{};
        for (std::size_t i = 0; i < names.size(); ++i) {
            all[i] = PyUnicode_InternFromString(names[i]);
        }
        return all;
    }();
    return made;
}

}  // namespace

const char* name_of(Argument argument) {
    return names[static_cast<std::size_t>(argument)];
}

Inputs::Inputs(nb::handle dict, nb::handle stream) : stream_(stream) {
    const Texts& keys = texts();
    for (std::size_t i = 0; i < given_.size(); ++i) {
        PyObject* const found = PyDict_GetItemWithError(dict.ptr(), keys[i]);
        given_[i] = found == nullptr ? Py_None : found;
    }
}

Inputs::Inputs(std::span<const Argument> order, std::span<PyObject* const> values) {
    given_.fill(Py_None);
    for (std::size_t i = 0; i < order.size(); ++i) {
        given_[static_cast<std::size_t>(order[i])] = values[i];
    }
}

Tensor Inputs::tensor(Argument argument) const {
    if (!has(argument)) {
        raise_type_error(
            fmt::format("{} is None; a tensor of NumPy, PyTorch, CuPy or JAX would be accepted",
                        name_of(argument)));
    }
    return read_tensor(name_of(argument), at(argument), stream_);
}

AttentionOptions Inputs::options() const {
    return read_options(at(Argument::causal), at(Argument::window), at(Argument::scale),
                        at(Argument::softcap), at(Argument::backend), at(Argument::accuracy));
}

}  // namespace raceline::python
