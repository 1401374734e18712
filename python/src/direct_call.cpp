// SPDX-License-Identifier: Apache-2.0
#include "direct_call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "call.hpp"
#include "exchange.hpp"

namespace raceline::python {
namespace {

// The arguments by position, behind return_lse: tensors, then options.
constexpr std::array order{
    Argument::q,          Argument::k_cache,      Argument::v_cache, Argument::block_table,
    Argument::seqlens,    Argument::sinks,        Argument::k_scale, Argument::v_scale,
    Argument::tree,       Argument::cu_seqlens_q, Argument::causal,  Argument::window,
    Argument::scale,      Argument::softcap,      Argument::backend, Argument::checked,
    Argument::max_seqlen, Argument::max_seqlen_q,
};
constexpr std::size_t tensor_count = 10;

/// Held for ever: attributes of the library, read once.
struct Functions {
    PyObject* empty = nullptr;
    PyObject* empty_like = nullptr;
    PyObject* empty_float = nullptr;
    PyObject* is_grad_enabled = nullptr;
    PyObject* current_device = nullptr;
    PyObject* allocate = nullptr;
    PyObject* free = nullptr;
};
std::optional<Functions> functions;

template <class... Arguments>
nb::object called(PyObject* function, const Arguments&... arguments) {
    const std::array<PyObject*, sizeof...(arguments)> given{arguments.ptr()...};
    PyObject* const result =
        PyObject_Vectorcall(function, given.data(), given.size(), /*kwnames=*/nullptr);
    if (result == nullptr) {
        throw nb::python_error();
    }
    return nb::steal(result);
}

/// Device memory of PyTorch's pool for as long as this lives.
class Scratch {
public:
    Scratch(std::size_t bytes, std::uintptr_t stream)
        : address_(called(functions->allocate, nb::int_(bytes), nb::int_(stream))) {}
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {  // an error of it would come too late
        PyObject* const address = address_.ptr();
        Py_XDECREF(PyObject_Vectorcall(functions->free, &address, 1, nullptr));
        PyErr_Clear();
    }
    [[nodiscard]] void* address() const { return pointer(nb::cast<std::uintptr_t>(address_)); }

private:
    nb::object address_;
};

nb::object empty_output(const Call& call, nb::handle q) {
    const bool alike = call.out_sizes() == call.first().shape && is_contiguous(call.first());
    return alike ? called(functions->empty_like, q) : called(functions->empty, call.out_shape(), q);
}

nb::object run(Call& call, nb::handle q, bool return_lse, std::optional<std::uintptr_t> stream) {
    nb::object out = empty_output(call, q);
    nb::object lse = return_lse ? called(functions->empty_float, call.lse_shape(), q) : nb::none();
    std::optional<Scratch> scratch;
    if (stream) {
        call.run(out, lse, *stream, [&](std::size_t bytes) {
            const nb::gil_scoped_acquire acquired;
            return scratch.emplace(bytes, *stream).address();
        });
    } else {
        call.run(out, lse, 0, 0, 0);
    }
    return return_lse ? nb::make_tuple(std::move(out), std::move(lse)) : std::move(out);
}

bool has_gradient(nb::handle tensor) {
    static PyObject* const name = PyUnicode_InternFromString("requires_grad");
    return !tensor.is_none() &&
           nb::steal(PyObject_GetAttr(tensor.ptr(), name)).is(nb::handle(Py_True));
}

/// Whether tensors need neither a copy nor the operator, which has no gradient either but says so.
bool may_be_taken(std::span<PyObject* const> tensors) {
    return std::ranges::all_of(tensors, is_addressable) &&
           (called(functions->is_grad_enabled).is(nb::handle(Py_False)) ||
            std::ranges::none_of(tensors, has_gradient));
}

bool on_current_device(const Tensor& tensor) {
    return !nb::handle(functions->allocate).is_none() &&
           nb::cast<int>(called(functions->current_device)) == tensor.device;
}

}  // namespace

void call_directly_with(nb::object library) {
    const auto attribute = [&](const char* name) {
        return nb::getattr(library, name).release().ptr();
    };
    functions = Functions{.empty = attribute("empty"),
                          .empty_like = attribute("empty_like"),
                          .empty_float = attribute("empty_float"),
                          .is_grad_enabled = attribute("is_grad_enabled"),
                          .current_device = attribute("current_device"),
                          .allocate = attribute("allocate"),
                          .free = attribute("free")};
}

nb::object decode_directly(const nb::args& arguments) {
    if (!functions || arguments.size() != order.size() + 1) {
        return nb::none();
    }
    std::array<PyObject*, order.size()> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = arguments[i + 1].ptr();
    }
    const nb::handle return_lse = arguments[0];
    const nb::handle q = values.front();
    if (PyBool_Check(return_lse.ptr()) == 0 || q.is_none() ||
        !may_be_taken(std::span(values).first(tensor_count))) {
        return nb::none();
    }
    DecodeCall call(Inputs(order, values));
    const std::optional<std::uintptr_t> stream = stream_of(q);
    if (stream && !on_current_device(call.first())) {
        return nb::none();
    }
    return run(call, q, return_lse.is(Py_True), stream);
}

}  // namespace raceline::python
