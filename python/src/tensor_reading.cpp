// SPDX-License-Identifier: Apache-2.0
// read_tensor: DLPack, its exchange in C, the buffer protocol, descriptions.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <utility>

#include "element_types.hpp"
#include "exchange.hpp"
#include "options.hpp"

namespace raceline::python {
namespace {

void set_place(Tensor& tensor, std::int32_t type, std::int32_t id) {
    const bool host = type == dlpack::cpu || type == dlpack::cuda_host;
    if (!host && type != dlpack::cuda && type != dlpack::cuda_managed) {
        raise_value_error(fmt::format(
            "{} is on a device of DLPack type {}; CPU and CUDA memory would be accepted",
            tensor.name, type));
    }
    tensor.place = host ? Place::cpu : Place::cuda;
    tensor.device = host ? 0 : id;
}

void set_row_major(Tensor& tensor) {
    tensor.strides.resize(tensor.shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        tensor.strides[i] = stride;
        stride *= std::max<std::int64_t>(tensor.shape[i], 1);
    }
}

void take_dlpack(Tensor& tensor, const dlpack::Tensor& given) {
    set_place(tensor, given.device.type, given.device.id);
    if (given.dtype.lanes != 1) {
        raise_type_error(
            fmt::format("{} has vectors as elements; they must be scalars", tensor.name));
    }
    tensor.type = {given.dtype.code, given.dtype.bits};
    tensor.shape.assign(given.shape, given.shape + given.ndim);
    if (given.strides != nullptr) {
        tensor.strides.assign(given.strides, given.strides + given.ndim);
    } else {
        set_row_major(tensor);
    }
    tensor.data =
        given.data == nullptr ? nullptr : static_cast<char*>(given.data) + given.byte_offset;
}

// The capsule is not consumed: it owns the export for as long as the Tensor holds it.
void take_capsule(Tensor& tensor, nb::object capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::versioned_capsule_name) != 0) {
        const auto* managed = static_cast<dlpack::ManagedVersioned*>(
            PyCapsule_GetPointer(capsule.ptr(), dlpack::versioned_capsule_name));
        if (managed->major != 1) {
            raise_type_error(fmt::format("{} speaks DLPack {}; raceline reads versions 0 and 1",
                                         tensor.name, managed->major));
        }
        take_dlpack(tensor, managed->tensor);
    } else if (PyCapsule_IsValid(capsule.ptr(), dlpack::capsule_name) != 0) {
        const auto* managed = static_cast<dlpack::Managed*>(
            PyCapsule_GetPointer(capsule.ptr(), dlpack::capsule_name));
        take_dlpack(tensor, managed->tensor);
    } else {
        raise_type_error(fmt::format("{}'s __dlpack__ gave no DLPack capsule", tensor.name));
    }
    tensor.owner = std::move(capsule);
}

// Asks with a version first, so that read-only memory may come; older exporters know no keyword.
// By vectorcall: this is most of what a prediction from memory costs.
nb::object dlpack_capsule(nb::handle object, nb::handle stream) {
    static PyObject* const method = PyUnicode_InternFromString("__dlpack__");
    static PyObject* const version = Py_BuildValue("(ii)", 1, 1);
    static PyObject* const with_version = Py_BuildValue("(s)", "max_version");
    static PyObject* const with_both = Py_BuildValue("(ss)", "max_version", "stream");
    const bool waits = !stream.is_none();
    const std::array arguments{object.ptr(), version, stream.ptr()};
    PyObject* capsule =
        PyObject_VectorcallMethod(method, arguments.data(), 1, waits ? with_both : with_version);
    if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
        PyErr_Clear();
        nb::dict keywords;
        if (waits) {
            keywords["stream"] = stream;
        }
        return object.attr("__dlpack__")(**keywords);
    }
    if (capsule == nullptr) {
        throw nb::python_error();
    }
    return nb::steal(capsule);
}

struct Buffer {
    Py_buffer view{};
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { PyBuffer_Release(&view); }
};

std::optional<ElementType> buffer_type(const Py_buffer& view) {
    const std::string_view format = view.format == nullptr ? "B" : view.format;
    for (const NamedType& named : named_types) {
        if (format.size() == 1 && format.front() == named.format &&
            view.itemsize * 8 == named.type.bits) {
            return named.type;
        }
    }
    return std::nullopt;
}

void take_buffer(Tensor& tensor, nb::handle object) {
    auto buffer = std::make_unique<Buffer>();
    if (PyObject_GetBuffer(object.ptr(), &buffer->view, PyBUF_RECORDS_RO) != 0) {
        throw nb::python_error();
    }
    const Py_buffer& view = buffer->view;
    const auto type = buffer_type(view);
    if (!type) {
        raise_type_error(
            fmt::format("{} has elements of format '{}'; tensors are float32, "
                        "float16, bfloat16 or float8_e4m3fn",
                        tensor.name, view.format == nullptr ? "B" : view.format));
    }
    tensor.type = *type;
    tensor.data = view.buf;
    tensor.shape.assign(view.shape, view.shape + view.ndim);
    for (int i = 0; i < view.ndim; ++i) {
        tensor.strides.push_back(view.strides[i] / view.itemsize);
    }
    tensor.owner = nb::capsule(buffer.release(),
                               [](void* held) noexcept { delete static_cast<Buffer*>(held); });
}

std::vector<std::int64_t> integers(std::string_view name, nb::handle sequence) {
    std::vector<std::int64_t> values;
    values.reserve(4);
    for (nb::handle value : nb::borrow<nb::tuple>(sequence)) {
        values.push_back(read_integer(name, value));
    }
    return values;
}

void take_description(Tensor& tensor, nb::handle object) {
    const auto parts = nb::borrow<nb::tuple>(object);
    tensor.data = pointer(nb::cast<std::uintptr_t>(parts[0]));
    const std::string name = read_text("the dtype of " + std::string(tensor.name), parts[1]);
    const auto* const named = std::ranges::find_if(
        named_types, [&](const NamedType& known) { return known.name == name; });
    if (named == named_types.end()) {
        raise_type_error(
            fmt::format("{} has dtype {}; tensors are float32, float16, bfloat16 or "
                        "float8_e4m3fn",
                        tensor.name, name));
    }
    tensor.type = named->type;
    tensor.shape = integers(tensor.name, parts[2]);
    if (parts[3].is_none()) {
        set_row_major(tensor);
    } else {
        tensor.strides = integers(tensor.name, parts[3]);
    }
    tensor.place = nb::cast<bool>(parts[4]) ? Place::cuda : Place::cpu;
    tensor.device = tensor.place == Place::cuda ? nb::cast<int>(parts[5]) : 0;
    tensor.owner = nb::borrow(object);
}

// Of an empty array, or along a dimension of one, any stride is right; exporters write odd ones.
void tidy_strides(Tensor& tensor) {
    if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) {
        set_row_major(tensor);
    }
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        if (tensor.shape[i] == 1) {
            tensor.strides[i] = std::max<std::int64_t>(tensor.strides[i], 0);
        }
    }
}

void take(Tensor& tensor, nb::handle object, nb::handle stream) {
    if (PyTuple_CheckExact(object.ptr())) {
        take_description(tensor, object);
        return;
    }
    if (const auto memory = exchanged(object)) {
        take_dlpack(tensor, *memory);
        tensor.owner = nb::borrow(object);
        return;
    }
    try {
        take_capsule(tensor, dlpack_capsule(object, stream));
    } catch (nb::python_error& error) {
        const bool refused =
            error.matches(PyExc_BufferError) || error.matches(PyExc_AttributeError);
        if (!refused || PyObject_CheckBuffer(object.ptr()) == 0) {
            throw;
        }
        take_buffer(tensor, object);
    }
}

}  // namespace

Tensor read_tensor(std::string_view name, nb::handle object, nb::handle stream) {
    Tensor tensor;
    tensor.name = name;
    take(tensor, object, stream);
    tidy_strides(tensor);
    return tensor;
}

}  // namespace raceline::python
