// SPDX-License-Identifier: Apache-2.0
// The form of a whole row: what every row has, and for each kind its struct (rows.hpp).
#include <array>
#include <nlohmann/json.hpp>

#include "receipt/members.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using namespace form;
using members::checked;
using members::Named;

constexpr std::array every_row{
    Named{"schema",
          {[](const Json& v) { return v.is_number_integer() && v >= 1 && v <= receipt_schema; },
           "1 or 2: this reader knows no other schema"}},
    Named{"kind",
          {[](const Json& v) {
               return v.is_string() && is_row_kind(v.get_ref<const std::string&>());
           },
           "one of prediction, measurement, counters, comparison, ceiling, check, "
           "refusal, device, kernel, bound"}},
    Named{"id", id},
    Named{"argv", strings},
    Named{"written", {is_time, "a UTC time like 2026-11-21T06:30:00.123456Z"}},
    Named{"prev", hash_or_null},
    Named{"hash", hash},
    Named{"git", object},
    Named{"source_hash", string},
    Named{"environment", object},
};
constexpr std::array git_members{Named{"commit", string}, Named{"dirty", boolean}};

void check_verdict(const Correctness& verdict) {
    const std::array<std::pair<const char*, double>, 3> errors{
        {{"relative_rms", verdict.relative_rms},
         {"worst", verdict.worst},
         {"bound", verdict.bound}}};
    for (const auto& [name, error] : errors) {
        require(!std::isnan(error) || !verdict.passed, Status::corrupt,
                "member \"correctness.{}\" is null; what passed has a number", name);
    }
}

template <class Row>
void check_as(const Json& row) {
    const Row read = row_from_json<Row>(row);
    if constexpr (requires { check_verdict(read.correctness); }) {
        check_verdict(read.correctness);
    }
    if constexpr (std::same_as<Row, MeasurementRow>) {
        require(!read.measurement || read.correctness.passed, Status::corrupt,
                "member \"measurement\" holds a time although \"correctness.passed\" is false");
    }
}

struct Kind {
    std::string_view name;
    bool about_case;
    void (*check)(const Json& row);
};
template <class Row>
constexpr Kind kind_of() {
    return {Row::kind, requires(Row row){row.about;
}
, check_as<Row>
};  // namespace
}  // namespace raceline
constexpr std::array kinds{kind_of<PredictionRow>(), kind_of<MeasurementRow>(),
                           kind_of<CountersRow>(),   kind_of<ComparisonRow>(),
                           kind_of<CeilingRow>(),    kind_of<CheckRow>(),
                           kind_of<RefusalRow>(),    kind_of<DeviceRow>(),
                           kind_of<KernelRow>(),     kind_of<BoundRow>()};

const Kind* find_kind(std::string_view word) {
    const auto* const found = std::ranges::find(kinds, word, &Kind::name);
    return found == kinds.end() ? nullptr : found;
}

}  // namespace

bool is_row_kind(std::string_view word) {
    return find_kind(word) != nullptr;
}

bool is_about_case(std::string_view kind) {
    const Kind* const found = find_kind(kind);
    return found != nullptr && found->about_case;
}

void validate_row(const Json& row) {
    require(row.is_object(), Status::corrupt, "a row must be an object, this is {}",
            row.type_name());
    for (const Named& named : every_row) {
        checked(row, "", named);
    }
    for (const Named& named : git_members) {
        checked(row.at("git"), "git.", named);
    }
    find_kind(row.at("kind").get_ref<const std::string&>())->check(row);
}

}  // namespace raceline
