// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "tensor.hpp"

namespace raceline::python {
namespace {

std::string kind_of(nb::handle value) {
    return nb::type_name(value.type()).c_str();
}

// "a float", "an int"
std::string with_article(const std::string& kind) {
    const bool vowel = std::string_view("aeioAEIO").find(kind.front()) != std::string_view::npos;
    return (vowel ? "an " : "a ") + kind;
}

std::int64_t read_offset(nb::handle value) {
    return value.is_none() ? -1 : read_integer("window", value);
}

std::pair<std::int64_t, std::int64_t> read_window(nb::handle window) {
    if (PySequence_Check(window.ptr()) == 0 || PyUnicode_Check(window.ptr()) != 0) {
        raise_type_error(fmt::format("window is {}; it must be None or a pair (left, right)",
                                     with_article(kind_of(window))));
    }
    const Py_ssize_t size = PySequence_Size(window.ptr());
    if (size != 2) {
        raise_value_error(
            fmt::format("window has {} entries; it must be None or a pair (left, right)", size));
    }
    return {read_offset(nb::object(window[0])), read_offset(nb::object(window[1]))};
}

}  // namespace

bool read_bool(std::string_view name, nb::handle value) {
    const int truth = PyObject_IsTrue(value.ptr());
    const std::string kind = PyBool_Check(value.ptr()) != 0 ? "bool" : kind_of(value);
    if (truth < 0 || (kind != "bool" && kind != "bool_" && kind != "numpy.bool")) {
        PyErr_Clear();
        raise_type_error(
            fmt::format("{} is {}; it must be True or False", name, with_article(kind)));
    }
    return truth == 1;
}

double read_number(std::string_view name, nb::handle value) {
    if (PyBool_Check(value.ptr()) != 0) {
        raise_type_error(fmt::format("{} is a bool; it must be a number", name));
    }
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
        const bool large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
        PyErr_Clear();
        if (large) {
            raise_value_error(fmt::format("{} is a number that no float holds", name));
        }
        raise_type_error(
            fmt::format("{} is {}; it must be a number", name, with_article(kind_of(value))));
    }
    return number;
}

std::int64_t read_integer(std::string_view name, nb::handle value) {
    nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) {
        PyErr_Clear();
        raise_type_error(fmt::format("{} is or holds {}; it must be an integer", name,
                                     with_article(kind_of(value))));
    }
    const long long number = PyLong_AsLongLong(index.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        raise_value_error(
            fmt::format("{} is or holds a number that does not fit into 64 bits", name));
    }
    return number;
}

std::string read_text(std::string_view name, nb::handle value) {
    if (value.is_none()) {
        return {};
    }
    if (PyUnicode_Check(value.ptr()) == 0) {
        raise_type_error(
            fmt::format("{} is {}; it must be None or a text", name, with_article(kind_of(value))));
    }
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) {
        PyErr_Clear();
        raise_value_error(fmt::format(
            "{} holds half of a surrogate pair; it must be a text that UTF-8 can write", name));
    }
    const std::string_view whole(text, static_cast<std::size_t>(size));
    if (whole.empty() || whole.find('\0') != std::string_view::npos) {
        raise_value_error(fmt::format("{} {}; leave it out, or give a text without null characters",
                                      name, whole.empty() ? "is empty" : "holds a null character"));
    }
    return std::string(whole);
}

AttentionOptions read_options(nb::handle causal, nb::handle window, nb::handle scale,
                              nb::handle softcap, nb::handle backend, nb::handle accuracy) {
    AttentionOptions options;
    options.causal = read_bool("causal", causal);
    if (!window.is_none()) {
        options.window = read_window(window);
    }
    if (!scale.is_none()) {
        options.scale = read_number("scale", scale);
    }
    if (!softcap.is_none()) {
        options.softcap = read_number("softcap", softcap);
    }
    options.backend = read_text("backend", backend);
    std::string wanted = read_text("accuracy", accuracy);
    if (!wanted.empty() && wanted != "accurate" && wanted != "fast") {
        std::size_t shown = std::min<std::size_t>(wanted.size(), 40);
        while (shown < wanted.size() && (wanted[shown] & 0xC0) == 0x80) {
            --shown;  // not in the middle of a character
        }
        wanted.resize(shown);
        raise_value_error(fmt::format("accuracy is '{}'; it must be 'accurate' or 'fast'", wanted));
    }
    options.accuracy = wanted == "fast" ? Accuracy::fast : Accuracy::accurate;
    return options;
}

}  // namespace raceline::python
