// SPDX-License-Identifier: Apache-2.0
// The border to C: no exception crosses it, every struct says its size, every text is copied.
#pragma once

#include <algorithm>
#include <array>
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

/// Sizes that a struct has had in some version of raceline.h, this one's last. A new member is
/// added at the end of its struct, and what the size was before goes on the list.
template <class T>
inline constexpr std::array known_sizes{sizeof(T)};
template <>
inline constexpr std::array known_sizes<rl_forward_args>{offsetof(rl_forward_args, q_scale),
                                                         offsetof(rl_forward_args, max_seqlen_q),
                                                         sizeof(rl_forward_args)};
template <>
inline constexpr std::array known_sizes<rl_decode_args>{offsetof(rl_decode_args, tree),
                                                        offsetof(rl_decode_args, cu_seqlens_count),
                                                        sizeof(rl_decode_args)};
template <>
inline constexpr std::array known_sizes<rl_options>{offsetof(rl_options, accuracy),
                                                    sizeof(rl_options)};
template <>
inline constexpr std::array known_sizes<rl_samples>{
    offsetof(rl_samples, sm_clock_hz), offsetof(rl_samples, timing), sizeof(rl_samples)};

/// A caller's struct as this library knows it. An older, shorter one reads as if its missing tail
/// were clear. Any other size is refused: it may end within a member, and half a pointer is no
/// pointer; or it is of a newer version, whose members this one does not know.
template <class T>
T read_struct(const T* given, std::string_view name) {
    require_pointer(given, name);
    const std::size_t size = given->struct_size;
    const auto& sizes = known_sizes<T>;
    require(std::find(sizes.begin(), sizes.end(), size) != sizes.end(), Status::invalid_argument,
            "{}.struct_size is {}; it must be sizeof the struct, {} in raceline {}", name, size,
            sizeof(T), version());
    T known{};
    std::memcpy(static_cast<void*>(&known), given, size);
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
CombineArgs read_combine(const rl_combine_args* given);

}  // namespace raceline::api
