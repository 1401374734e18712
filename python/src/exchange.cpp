// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace raceline::python {
namespace {

struct Known {
    PyTypeObject* type = nullptr;  ///< held for ever, so that no other type gets its address
    const dlpack::Exchange* exchange = nullptr;
};

// PyTorch has two types of plain tensors. The interpreter's lock guards the list.
std::array<Known, 4> known;
std::size_t known_count = 0;

const dlpack::Exchange* exchange_of(nb::handle tensor) {
    const PyTypeObject* const type = Py_TYPE(tensor.ptr());
    for (std::size_t i = 0; i < known_count; ++i) {
        if (known[i].type == type) {
            return known[i].exchange;
        }
    }
    return nullptr;
}

bool is_on_cuda(const dlpack::Tensor& memory) {
    return memory.device.type == dlpack::cuda || memory.device.type == dlpack::cuda_managed;
}

bool is_negated(nb::handle tensor) {
    static PyObject* const method = PyUnicode_InternFromString("is_neg");
    PyObject* const self = tensor.ptr();
    const nb::object answer = nb::steal(PyObject_VectorcallMethod(method, &self, 1, nullptr));
    if (!answer.is_valid()) {
        throw nb::python_error();
    }
    return answer.ptr() == Py_True;
}

}  // namespace

bool exchange_with(nb::handle type) {
    if (PyType_Check(type.ptr()) == 0 || known_count == known.size()) {
        return false;
    }
    const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::exchange_capsule_name) == 0) {
        return false;
    }
    const auto* const exchange = static_cast<const dlpack::Exchange*>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::exchange_capsule_name));
    if (exchange->major != 1 || exchange->read == nullptr || exchange->current_stream == nullptr) {
        return false;
    }
    Py_INCREF(type.ptr());
    known[known_count++] = {reinterpret_cast<PyTypeObject*>(type.ptr()), exchange};
    return true;
}

std::optional<dlpack::Tensor> exchanged(nb::handle tensor) {
    const dlpack::Exchange* const exchange = exchange_of(tensor);
    if (exchange == nullptr) {
        return std::nullopt;
    }
    dlpack::Tensor memory{};
    if (exchange->read(tensor.ptr(), &memory) != 0) {
        throw nb::python_error();
    }
    return memory;
}

bool is_addressable(nb::handle tensor) {
    if (tensor.is_none()) {
        return true;
    }
    const dlpack::Exchange* const exchange = exchange_of(tensor);
    if (exchange == nullptr) {
        return false;
    }
    dlpack::Tensor memory{};
    if (exchange->read(tensor.ptr(), &memory) != 0) {
        PyErr_Clear();  // sparse, or of a type that DLPack has no word for
        return false;
    }
    const bool near = memory.device.type == dlpack::cpu || memory.device.type == dlpack::cuda_host;
    const std::int32_t last = memory.ndim - 1;
    const bool contiguous = last < 0 || memory.strides == nullptr || memory.strides[last] == 1 ||
                            memory.shape[last] <= 1;
    return (near || is_on_cuda(memory)) && contiguous && !is_negated(tensor);
}

bool all_addressable(const nb::args& tensors) {
    return std::ranges::all_of(tensors, is_addressable);
}

std::optional<std::uintptr_t> stream_of(nb::handle tensor) {
    const std::optional<dlpack::Tensor> memory = exchanged(tensor);
    if (!memory || !is_on_cuda(*memory)) {
        return std::nullopt;
    }
    void* stream = nullptr;
    if (exchange_of(tensor)->current_stream(memory->device.type, memory->device.id, &stream) != 0) {
        throw nb::python_error();
    }
    return reinterpret_cast<std::uintptr_t>(stream);
}

}  // namespace raceline::python
