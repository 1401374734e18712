// SPDX-License-Identifier: Apache-2.0
// raceline._core: what the package's Python files call. No interface of its own.
#include <exception>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <string_view>

#include "call.hpp"
#include "devices.hpp"
#include "direct_call.hpp"
#include "exchange.hpp"
#include "page.hpp"
#include "prediction.hpp"
#include "raceline/raceline.hpp"
#include "support/one_line.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline::python {
namespace {

// The library's sentences name its own arguments; some have other names in Python.
std::string sentence_of(const Error& error) {
    std::string text = error.what();
    const auto replace_all = [&](std::string_view before, std::string_view after) {
        for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
            text.replace(at, before.size(), after);
            at += after.size();
        }
    };
    const auto replace_start = [&](std::string_view before, std::string_view after) {
        if (text.starts_with(before)) {
            text.replace(0, before.size(), after);
        }
    };
    replace_start("place is cuda", "q is on a CUDA device");
    replace_start("kernel '", "backend '");
    replace_start("seqlens_k", "seqlens");
    replace_all("max_seqlen_k", "max_seqlen");
    replace_all("k_token_scale", "k_scale");
    replace_all("v_token_scale", "v_scale");
    return one_line(text);
}

PyObject* exception_of(Status status) {
    switch (status) {
        case Status::invalid_argument:
        case Status::no_device: return PyExc_ValueError;
        case Status::unsupported: return PyExc_NotImplementedError;
        case Status::io: return PyExc_OSError;
        default: return PyExc_RuntimeError;
    }
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& error) {
        PyErr_SetString(exception_of(error.status()), sentence_of(error).c_str());
    }
}

template <class Kind>
void bind_kind(nb::module_& module, const char* name) {
    nb::class_<Kind, Call>(module, name)
        .def(
            "__init__",
            [](Kind* self, const nb::dict& given, const nb::object& stream) {
                new (self) Kind(Inputs(given, stream));
            },
            nb::arg("given"), nb::arg("stream").none());
}

void bind_call(nb::module_& module) {
    nb::class_<Call>(module, "Call", "A checked call.")
        .def_prop_ro("out_shape", &Call::out_shape)
        .def_prop_ro("lse_shape", &Call::lse_shape)
        .def_prop_ro("workspace_bytes", &Call::workspace_bytes)
        .def("run",
             nb::overload_cast<nb::handle, nb::handle, std::uintptr_t, std::size_t, std::uintptr_t>(
                 &Call::run),
             nb::arg("out"), nb::arg("lse").none(), nb::arg("workspace"),
             nb::arg("workspace_bytes"), nb::arg("stream"));
    bind_kind<ForwardCall>(module, "ForwardCall");
    bind_kind<DecodeCall>(module, "DecodeCall");
    bind_kind<CombineCall>(module, "CombineCall");
}

}  // namespace
}  // namespace raceline::python

NB_MODULE(_core, module) {
    using namespace raceline::python;
    nb::register_exception_translator(translate);
    module.def("version", &raceline::version);
    module.def("synchronize", [] {
        const nb::gil_scoped_release released;
        raceline::cuda::synchronize();
    });
    module.def("exchange_with", &exchange_with);
    module.def("all_addressable", &all_addressable);
    module.def("current_stream", &stream_of);
    module.def("call_directly_with", &call_directly_with);
    module.def("decode", &decode_directly);
    bind_call(module);
    bind_predictions(module);
    bind_devices(module);
    bind_page(module);
}
