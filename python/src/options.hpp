// SPDX-License-Identifier: Apache-2.0
// Keyword arguments that every call shares, as Python gives them.
#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <string_view>

#include "raceline/raceline.hpp"

namespace raceline::python {

/// TypeError naming the argument unless it is True or False (NumPy's included).
bool read_bool(std::string_view name, nanobind::handle value);
/// TypeError naming the argument unless it is a number.
double read_number(std::string_view name, nanobind::handle value);
/// TypeError naming the argument unless it is an integer.
std::int64_t read_integer(std::string_view name, nanobind::handle value);
/// None reads as "".
std::string read_text(std::string_view name, nanobind::handle value);

/// causal, window (None or a pair of int or None), scale (None or a number), softcap (None or a
/// number), backend (None or a name), accuracy (None, "accurate" or "fast").
AttentionOptions read_options(nanobind::handle causal, nanobind::handle window,
                              nanobind::handle scale, nanobind::handle softcap,
                              nanobind::handle backend, nanobind::handle accuracy);

}  // namespace raceline::python
