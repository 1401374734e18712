// SPDX-License-Identifier: Apache-2.0
// Element types by name and by the buffer protocol's letter.
#pragma once

#include <array>

#include "dlpack.hpp"
#include "tensor.hpp"

namespace raceline::python {

struct NamedType {
    const char* name;
    char format;  ///< the buffer protocol's letter, 0: it has none
    ElementType type;
};

inline constexpr std::array named_types{
    NamedType{"fp32", 'f', {dlpack::floating, 32}},
    NamedType{"fp16", 'e', {dlpack::floating, 16}},
    NamedType{"bf16", 0, {dlpack::bfloat, 16}},
    NamedType{"e4m3", 0, {dlpack::e4m3fn, 8}},
    NamedType{"int32", 'i', {dlpack::integer, 32}},
    NamedType{"uint32", 'I', {dlpack::unsigned_integer, 32}},
    NamedType{"int64", 'l', {dlpack::integer, 64}},
    NamedType{"float64", 'd', {dlpack::floating, 64}},
    NamedType{"uint8", 'B', {dlpack::unsigned_integer, 8}},
    NamedType{"int8", 'b', {dlpack::integer, 8}},
    NamedType{"bool", '?', {dlpack::boolean, 8}},
    NamedType{"complex64", 0, {dlpack::complex, 64}},
    NamedType{"float8_e5m2", 0, {dlpack::e5m2, 8}},
};

}  // namespace raceline::python
