// SPDX-License-Identifier: Apache-2.0
// The form of schema 1 as tables: which members a row of each kind has, and what each may hold.
// Members that are not named here are free.
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "receipt/row.hpp"
#include "receipt/value_forms.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using namespace form;

struct Member {
    const char* name;
    Form form;
};

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
    Member{"softcap", amount},
    Member{"sinks", boolean},
    Member{"page_size", count},
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
constexpr std::array correctness_members{
    Member{"passed", boolean}, Member{"relative_rms", amount_or_null},
    Member{"worst", amount_or_null}, Member{"bound", amount_or_null}, Member{"cases", count}};
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

void check_verdict(const Json& row) {
    check_in(row, "", "correctness", correctness_members);
    const Json& verdict = row.at("correctness");
    for (const char* error : {"relative_rms", "worst", "bound"}) {
        require(verdict.at(error).is_number() || verdict.at("passed") == false, Status::corrupt,
                "member \"correctness.{}\" is null; what passed has a number", error);
    }
}

void check_measurement(const Json& row) {
    check(row, "", std::array{Member{"prediction_id", id}});
    check_verdict(row);
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
    Kind{"check", true, check_verdict},
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
