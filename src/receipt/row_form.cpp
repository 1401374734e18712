// SPDX-License-Identifier: Apache-2.0
// The form of schema 1 as tables: which members a row of each kind has, and what each may hold.
// Members that are not named here are free.
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "receipt/row.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// A form tells whether a value has it; `wanted` completes "must be …".
struct Form {
    bool (*holds)(const Json& value);
    const char* wanted;
};
struct Member {
    const char* name;
    Form form;
};

template <class... Names>
bool one_of(const Json& value, Names... names) {
    return value.is_string() && (... || (value.get_ref<const std::string&>() == names));
}

bool is_hex(const Json& value, std::size_t digits) {
    if (!value.is_string()) {
        return false;
    }
    const auto& text = value.get_ref<const std::string&>();
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Exactly what utc_now writes, so that times compare as text.
bool is_time(const Json& value) {
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
bool is_count(const Json& v) {
    return v.is_number_integer() && v >= 0 && v <= std::numeric_limits<std::int64_t>::max();
}

bool is_amount(const Json& value) {
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

bool is_number(const Json& value) {
    return value.is_number();
}
bool is_integer(const Json& value) {
    return value.is_number_integer();
}
bool is_string(const Json& value) {
    return value.is_string();
}
bool is_field(const Json& value) {
    return value.is_primitive() && !value.is_null();
}

bool is_window(const Json& value) {
    return value.is_null() || (value.is_array() && value.size() == 2 && each<is_integer>(value));
}

bool is_band(const Json& value) {
    return value.is_null() || (value.is_array() && value.size() == 2 && each<is_number>(value) &&
                               value[0] <= value[1]);
}

constexpr Form string{is_string, "a string"};
constexpr Form name{[](const Json& v) { return v.is_string() && v != ""; }, "a string, not empty"};
constexpr Form boolean{[](const Json& v) { return v.is_boolean(); }, "true or false"};
constexpr Form object{[](const Json& v) { return v.is_object(); }, "an object"};
constexpr Form number{is_number, "a number"};
constexpr Form amount{is_amount, "a number, 0 or more"};
constexpr Form count{is_count, "a whole number, 0 or more"};
constexpr Form hash{[](const Json& v) { return is_hex(v, 64); }, "64 lower-case hex digits"};
constexpr Form hash_or_null{[](const Json& v) { return v.is_null() || is_hex(v, 64); },
                            "null or 64 lower-case hex digits"};
constexpr Form id{[](const Json& v) { return is_hex(v, 32); }, "32 lower-case hex digits"};
constexpr Form seconds_by_name{[](const Json& v) { return v.is_object() && each<is_number>(v); },
                               "an object of numbers"};
constexpr Form fields{[](const Json& v) { return v.is_object() && each<is_field>(v); },
                      "an object of plain values"};
constexpr Form dtype{
    [](const Json& v) { return one_of(v, "fp32", "fp16", "bf16", "e4m3", "nvfp4"); },
    "fp32, fp16, bf16, e4m3 or nvfp4"};

constexpr std::array every_row{
    Member{"schema",
           {[](const Json& v) { return v.is_number_integer() && v == receipt_schema; },
            "1: this reader knows no other schema"}},
    Member{"kind",
           {[](const Json& v) {
                return v.is_string() && is_row_kind(v.get_ref<const std::string&>());
            },
            "one of prediction, measurement, counters, comparison, ceiling, check, "
            "refusal, device, kernel"}},
    Member{"id", id},
    Member{
        "argv",
        {[](const Json& v) { return v.is_array() && each<is_string>(v); }, "an array of strings"}},
    Member{"written", {is_time, "a UTC time like 2026-11-21T06:30:00.123456Z"}},
    Member{"prev", hash_or_null},
    Member{"hash", hash},
    Member{"git", object},
    Member{"source_hash", string},
    Member{"environment", object},
};
constexpr std::array git_members{Member{"commit", string}, Member{"dirty", boolean}};
constexpr std::array device_members{Member{"id", name}, Member{"name", string},
                                    Member{"driver", string}};
constexpr std::array case_row{Member{"suite", string},    Member{"device", object},
                              Member{"kernel", name},     Member{"tile", fields},
                              Member{"workload", object}, Member{"case", object}};
constexpr std::array workload_members{
    Member{"batch", count},
    Member{"heads_q", count},
    Member{"heads_kv", count},
    Member{"seqlen_q", count},
    Member{"seqlen_k", count},
    Member{"headdim", count},
    Member{"headdim_v", count},
    Member{"dtype", dtype},
    Member{"kv_dtype", dtype},
    Member{"mask", {[](const Json& v) { return one_of(v, "full", "causal"); }, "full or causal"}},
    Member{"window", {is_window, "null or [left, right] in whole numbers"}},
    Member{"softcap",
           {[](const Json& v) { return v.is_null() || is_amount(v); },
            "a number, 0 or more, or null"}},
    Member{"sinks", boolean},
    Member{"page_size",
           {[](const Json& v) { return v.is_null() || is_count(v); },
            "a whole number, 0 or more, or null"}},
};
constexpr std::array case_members{Member{"cold", boolean}, Member{"launch_path", string},
                                  Member{"threads", count}};
constexpr std::array prediction_members{
    Member{"seconds", amount},
    Member{"limiter", string},
    Member{"layer1", seconds_by_name},
    Member{"layer2", seconds_by_name},
    Member{"band", {is_band, "null or [low, high] with low <= high"}},
    Member{"rates_id", string},
    Member{"sm_clock_hz", amount},
    Member{"model_hash", string},
};
constexpr std::array correctness_members{Member{"passed", boolean}, Member{"relative_rms", amount},
                                         Member{"worst", amount}, Member{"bound", amount},
                                         Member{"cases", count}};
constexpr std::array measurement_members{
    Member{"seconds_median", amount}, Member{"seconds_low", amount}, Member{"seconds_high", amount},
    Member{"seconds_call", amount},   Member{"samples", count},      Member{"sm_clock_hz", amount},
    Member{"power_w", amount}};
constexpr std::array peer_members{Member{"name", name},           Member{"version", string},
                                  Member{"backend", string},      Member{"seconds_median", amount},
                                  Member{"seconds_low", amount},  Member{"seconds_high", amount},
                                  Member{"seconds_call", amount}, Member{"correctness", object}};
constexpr std::array ceiling_members{Member{"resource", name},  Member{"value", amount},
                                     Member{"unit", name},      Member{"clock_hz", amount},
                                     Member{"power_w", amount}, Member{"method", string},
                                     Member{"limit", amount}};

std::string shortened(const Json& value) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() <= 60 ? text : value.type_name();
}

// `inside` is the path of the object, "" for the row itself.
void check(const Json& from, std::string_view inside, std::span<const Member> members) {
    for (const Member& member : members) {
        const auto at = from.find(member.name);
        require(at != from.end(), Status::corrupt, "member \"{}{}\" is missing; it must be {}",
                inside, member.name, member.form.wanted);
        require(member.form.holds(*at), Status::corrupt, "member \"{}{}\" is {}; it must be {}",
                inside, member.name, shortened(*at), member.form.wanted);
    }
}

// A member that must be an object with members of its own.
void check_in(const Json& from, std::string_view inside, const char* member,
              std::span<const Member> members) {
    check(from, inside, std::array{Member{member, object}});
    check(from.at(member), fmt::format("{}{}.", inside, member), members);
}

void check_case(const Json& row) {
    check(row, "", case_row);
    check_in(row, "", "device", device_members);
    check_in(row, "", "workload", workload_members);
    check_in(row, "", "case", case_members);
}

void check_measurement(const Json& row) {
    check(row, "", std::array{Member{"prediction_id", id}});
    check_in(row, "", "correctness", correctness_members);
    check(row, "",
          std::array{Member{"measurement",
                            {[](const Json& v) { return v.is_null() || v.is_object(); },
                             "an object, or null where the gate failed"}}});
    if (row.at("measurement").is_object()) {
        check_in(row, "", "measurement", measurement_members);
        require(row.at("correctness").at("passed") == true, Status::corrupt,
                "member \"measurement\" holds a time although \"correctness.passed\" is false");
    }
}

void check_comparison(const Json& row) {
    check_in(row, "", "measurement", measurement_members);
    check_in(row, "", "peer", peer_members);
    check_in(row.at("peer"), "peer.", "correctness", std::array{Member{"passed", boolean}});
    check(row, "",
          std::array{Member{"ratio", amount}, Member{"ratio_low", amount},
                     Member{"ratio_high", amount}});
}

// Kinds, whether their rows are about a case, and what else they hold.
struct Kind {
    std::string_view name;
    bool about_case;
    void (*check)(const Json& row);
};
constexpr std::array kinds{
    Kind{"prediction", true,
         [](const Json& row) { check_in(row, "", "prediction", prediction_members); }},
    Kind{"measurement", true, check_measurement},
    Kind{"counters", false,
         [](const Json& row) {
             check(row, "", std::array{Member{"measurement_id", id}, Member{"counters", object}});
         }},
    Kind{"comparison", true, check_comparison},
    Kind{"ceiling", false,
         [](const Json& row) {
             check_in(row, "", "device", device_members);
             check_in(row, "", "ceiling", ceiling_members);
         }},
    Kind{"check", true,
         [](const Json& row) { check_in(row, "", "correctness", correctness_members); }},
    Kind{"refusal", true,
         [](const Json& row) { check(row, "", std::array{Member{"reason", name}}); }},
    Kind{"device", false, [](const Json& row) { check_in(row, "", "device", device_members); }},
    Kind{"kernel", false,
         [](const Json& row) { check(row, "", std::array{Member{"kernel", name}}); }},
};

}  // namespace

bool is_row_kind(std::string_view word) {
    for (const Kind& kind : kinds) {
        if (kind.name == word) {
            return true;
        }
    }
    return false;
}

void validate_row(const Json& row) {
    require(row.is_object(), Status::corrupt, "a row must be an object, this is {}",
            row.type_name());
    check(row, "", every_row);
    check_in(row, "", "git", git_members);
    for (const Kind& kind : kinds) {
        if (row.at("kind") == kind.name) {
            if (kind.about_case) {
                check_case(row);
            }
            kind.check(row);
        }
    }
}

}  // namespace raceline
