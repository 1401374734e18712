// SPDX-License-Identifier: Apache-2.0
// What every row of a receipt has. Schema 2: JSON lines, one object a row, chained by hash; rows of
// schema 1 are read and checked as well. Contents are in rows.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"

namespace raceline {

inline constexpr int receipt_schema = 2;  ///< of what is written

/// prediction measurement counters comparison ceiling check refusal device kernel
bool is_row_kind(std::string_view kind);
/// Of these, those that carry a case: suite, device, kernel, tile, workload, op, pass, case.
bool is_about_case(std::string_view kind);

/// What every row of one program run carries beside its own content.
struct RowContext {
    std::vector<std::string> argv;
    std::string git_commit;  ///< from the build
    bool git_dirty = false;
    Json environment() const;  ///< compiler, build type, library versions, kernel release, cpu

    static RowContext of_this_process(int argc, const char* const* argv);
};

/// Builds a row without prev and hash: schema, kind, id (fresh, 128 random bits in hex), argv (of
/// absolute paths the last part only, so that evidence can be committed as it was written),
/// written, git, source_hash, environment, then the members of `content`, in this order.
Json make_row(const RowContext& context, std::string_view kind, std::string_view source_hash,
              const Json& content);

/// SHA-256 of the row's one-line dump without the member `hash`.
std::string row_hash(const Json& row);

/// Throws Error(corrupt) naming the first missing or wrong member, if `row` is of neither schema.
void validate_row(const Json& row);

/// A number member of a valid row, or NaN where it is null: JSON has no spelling for what is not
/// finite, and a failed verdict may have such an error.
double number_or_nan(const Json& object, const char* member);

}  // namespace raceline
