// SPDX-License-Identifier: Apache-2.0
// What single values of a receipt row may be. Used by rows.cpp and row_form.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "support/json.hpp"

namespace raceline::form {

// A form tells whether a value has it; `wanted` completes "must be …".
struct Form {
    bool (*holds)(const Json& value);
    const char* wanted;
};
template <class... Names>
bool one_of(const Json& value, Names... names) {
    return value.is_string() && (... || (value.get_ref<const std::string&>() == names));
}

inline bool is_hex(const Json& value, std::size_t digits) {
    if (!value.is_string()) {
        return false;
    }
    const auto& text = value.get_ref<const std::string&>();
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Exactly what utc_now writes, so that times compare as text.
inline bool is_time(const Json& value) {
    constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    if (!value.is_string() || value.get_ref<const std::string&>().size() != form.size()) {
        return false;
    }
    const auto& text = value.get_ref<const std::string&>();
    for (std::size_t i = 0; i < form.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (form[i] == 'd' ? !digit : text[i] != form[i]) {
            return false;
        }
    }
    return true;
}

// Readers take counts as 64-bit signed.
inline bool is_count(const Json& v) {
    return v.is_number_integer() && v >= 0 && v <= std::numeric_limits<std::int64_t>::max();
}

inline bool is_amount(const Json& value) {
    return value.is_number() && value >= 0;
}

template <bool (*Holds)(const Json&)>
bool each(const Json& value) {
    for (const auto& member : value) {
        if (!Holds(member)) {
            return false;
        }
    }
    return value.is_structured();
}

inline bool is_number(const Json& value) {
    return value.is_number();
}
inline bool is_integer(const Json& value) {
    return value.is_number_integer();
}
inline bool is_string(const Json& value) {
    return value.is_string();
}
inline bool is_field(const Json& value) {
    return value.is_primitive() && !value.is_null();
}

inline bool is_window(const Json& value) {
    return value.is_null() || (value.is_array() && value.size() == 2 && each<is_integer>(value));
}

inline bool is_band(const Json& value) {
    return value.is_null() || (value.is_array() && value.size() == 2 && each<is_number>(value) &&
                               value[0] <= value[1]);
}

inline constexpr Form string{is_string, "a string"};
inline constexpr Form name{
    [](const Json& v) { return is_string(v) && !v.get_ref<const std::string&>().empty(); },
    "a string, not empty"};
inline constexpr Form boolean{[](const Json& v) { return v.is_boolean(); }, "true or false"};
inline constexpr Form object{[](const Json& v) { return v.is_object(); }, "an object"};
inline constexpr Form number{is_number, "a number"};
inline constexpr Form amount{is_amount, "a number, 0 or more"};
inline constexpr Form amount_or_null{[](const Json& v) { return v.is_null() || is_amount(v); },
                                     "a number, 0 or more, or null where it is not finite"};
inline constexpr Form count{is_count, "a whole number, 0 or more"};
inline constexpr Form hash{[](const Json& v) { return is_hex(v, 64); }, "64 lower-case hex digits"};
inline constexpr Form hash_or_null{[](const Json& v) { return v.is_null() || is_hex(v, 64); },
                                   "null or 64 lower-case hex digits"};
inline constexpr Form id{[](const Json& v) { return is_hex(v, 32); }, "32 lower-case hex digits"};
inline constexpr Form seconds_by_name{
    [](const Json& v) { return v.is_object() && each<is_number>(v); }, "an object of numbers"};
inline constexpr Form texts{[](const Json& v) { return v.is_object() && each<is_string>(v); },
                            "an object of strings"};
inline constexpr Form fields{[](const Json& v) { return v.is_object() && each<is_field>(v); },
                             "an object of plain values"};
inline constexpr Form dtype{
    [](const Json& v) { return one_of(v, "fp32", "fp16", "bf16", "e4m3", "nvfp4"); },
    "fp32, fp16, bf16, e4m3 or nvfp4"};

inline constexpr Form object_or_null{[](const Json& v) { return v.is_null() || v.is_object(); },
                                     "an object, or null where the gate failed"};
inline constexpr Form band{is_band, "null or [low, high] with low <= high"};
inline constexpr Form window{is_window, "null or [left, right] in whole numbers"};
inline constexpr Form mask{[](const Json& v) { return one_of(v, "full", "causal"); },
                           "full or causal"};
inline constexpr Form regime{[](const Json& v) { return one_of(v, "sustained", "alone"); },
                             "sustained or alone"};
inline constexpr Form pass{[](const Json& v) { return one_of(v, "forward", "backward"); },
                           "forward or backward"};
inline constexpr Form strings{[](const Json& v) { return v.is_array() && each<is_string>(v); },
                              "an array of strings"};
inline constexpr Form seed{[](const Json& v) { return v.is_number_integer() && v >= 0; },
                           "a whole number, 0 or more"};

}  // namespace raceline::form
