// SPDX-License-Identifier: Apache-2.0
// The border to C: no exception crosses it, every struct says its size, every text is copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "raceline/error.hpp"
#include "raceline/raceline.h"
#include "raceline/raceline.hpp"
#include "support/check.hpp"

namespace raceline::api {

/// Keeps the sentence for rl_last_error of this thread ("": none) and returns the number.
rl_status record_status(Status status, std::string_view sentence) noexcept;

/// Runs `body`, turning what it throws into a status and a kept sentence.
template <class Body>
rl_status guarded(Body&& body) noexcept {
    try {
        body();
        return record_status(Status::ok, "");
    } catch (const Error& error) {
        return record_status(error.status(), error.what());
    } catch (const std::bad_alloc&) {
        return record_status(Status::internal, "out of memory");
    } catch (const std::exception& error) {
        return record_status(Status::internal, error.what());
    } catch (...) {
        return record_status(Status::internal, "an exception of unknown type");
    }
}

/// Refuses a null pointer argument.
template <class T>
void require_pointer(T* pointer, std::string_view name) {
    require(pointer != nullptr, Status::invalid_argument,
            "{} is a null pointer; it must point to a value", name);
}

/// A caller's struct as this library knows it. An older, shorter one reads as if its missing tail
/// were clear; a newer, longer one is accepted if what this library does not know is clear.
template <class T>
T read_struct(const T* given, std::string_view name) {
    require_pointer(given, name);
    constexpr std::size_t largest = 4096;  // no struct of ours comes near: a wild value
    const std::size_t size = given->struct_size;
    require(size > sizeof(std::size_t) && size <= largest, Status::invalid_argument,
            "{}.struct_size is {}; it must be sizeof the struct, {} in this version", name, size,
            sizeof(T));
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t i = sizeof(T); i < size; ++i) {
        require(bytes[i] == 0, Status::unsupported,
                "{} has a member set that raceline {} does not know (byte {})", name, version(), i);
    }
    T known{};
    std::memcpy(static_cast<void*>(&known), given, std::min(size, sizeof(T)));
    return known;
}

/// Back into the caller's struct, as much of it as he has room for.
template <class T>
void write_struct(const T& known, T* given) {
    std::memcpy(static_cast<void*>(given), &known, std::min(known.struct_size, sizeof(T)));
}

/// A text that C frees with rl_free.
char* copied_text(std::string_view text);

/// Null reads as "".
inline std::string text_or_empty(const char* text) {
    return text == nullptr ? "" : text;
}

DType dtype_of(std::int32_t number, std::string_view name);
Place place_of(std::int32_t number);

/// The C++ arguments that C arguments stand for; throws Error(invalid_argument).
ForwardArgs read_forward(const rl_forward_args* given);
DecodeArgs read_decode(const rl_decode_args* given);

}  // namespace raceline::api
