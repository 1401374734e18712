// SPDX-License-Identifier: Apache-2.0
#include "plot/sweep_lines.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plot/charts.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "support/words.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Field {
    std::string_view name;
    std::int64_t Workload::* member;
};
constexpr std::array own_fields{
    Field{"seqlen_q", &Workload::seqlen_q},  Field{"seqlen_k", &Workload::seqlen_k},
    Field{"batch", &Workload::batch},        Field{"heads_q", &Workload::heads_q},
    Field{"heads_kv", &Workload::heads_kv},  Field{"headdim", &Workload::headdim},
    Field{"page_size", &Workload::page_size}};

// Fields of a prefill that move together: both lengths, and these with a batch that keeps the
// number of tokens.
constexpr std::string_view both_lengths = "length";
constexpr std::string_view same_tokens = "length-of-same-tokens";

// Sizes of the operations beside attention: "rows", "width", "m" and so on.
std::set<std::string_view> extent_names() {
    std::set<std::string_view> names;
    for (const OperationRecord* operation : all_operations()) {
        for (const OperationField& field : operation->fields.value) {
            if (field.kind == FieldKind::count) {
                names.insert(field.name);
            } else if (field.kind == FieldKind::grid) {
                names.insert({grid_rows, grid_width});
            }
        }
    }
    return names;
}

bool is_field(std::string_view name) {
    return std::ranges::count(sweep_fields(), name) > 0;
}

// A case of a line: where it stands on the axis, and all that its line shares with it.
struct Point {
    double value = 0;
    std::string rest;
};

// Whether a word of its shape has both sides of a matrix, as n=8192x4096.
bool is_grid(const Workload& w, std::string_view name) {
    return std::ranges::any_of(find_operation(w.op).fields.value, [&](const OperationField& field) {
        return field.kind == FieldKind::grid && field.name == name;
    });
}

// Of another operation than attention; nothing where it does not have the field.
std::optional<Point> point_of_operation(const Workload& w, std::string_view field) {
    const auto found = w.extents.find(field);
    if (found == w.extents.end()) {
        return std::nullopt;
    }
    // In the words of `--shape`; of a grid the other side stays.
    std::string rest;
    for (const std::string& word : words_of(format_shape(w))) {
        const std::string_view name = std::string_view(word).substr(0, word.find('='));
        const bool grid = field == grid_rows || field == grid_width;
        const std::string_view other = field == grid_rows ? grid_width : grid_rows;
        if (grid && is_grid(w, name)) {
            rest += fmt::format(",{}={}", other, w.extent(other));
        } else if (name != field) {
            rest += "," + word;
        }
    }
    return Point{static_cast<double>(found->second), rest.substr(1)};
}

std::optional<Point> point_of(Workload w, std::string_view field) {
    if (!w.is_attention()) {
        return point_of_operation(w, field);
    }
    if (w.ragged()) {
        return std::nullopt;
    }
    if (field == both_lengths || field == same_tokens) {
        if (w.seqlen_q != w.seqlen_k) {
            return std::nullopt;
        }
        const auto length = static_cast<double>(w.seqlen_k);
        w.batch *= field == same_tokens ? w.seqlen_q : 1;
        w.seqlen_q = w.seqlen_k = 0;
        return Point{length, format_shape(w)};
    }
    const auto* const known = std::ranges::find(own_fields, field, &Field::name);
    if (known == own_fields.end()) {
        return std::nullopt;
    }
    const std::int64_t value = std::exchange(w.*(known->member), 0);
    return Point{static_cast<double>(value), format_shape(w)};
}

// Whether a kernel ran a case with several tiles, which then are lines of their own; where it ran
// with one, its tile may change along the line.
using Ran = std::map<std::string, std::set<std::string>>;  // tiles, by device, kernel and shape

Ran tiles_of(const TimedRows& rows) {
    Ran ran;
    for (const TimedCase& one : rows.cases) {
        ran[one.device + "\n" + one.kernel + "\n" + one.shape].insert(tile_fields(one.about.tile));
    }
    return ran;
}

// Fields that any case has.
std::vector<std::string_view> fields_of(const TimedRows& rows) {
    std::vector<std::string_view> fields = sweep_fields();
    std::erase_if(fields, [&](std::string_view field) {
        return std::ranges::none_of(rows.cases, [&](const TimedCase& one) {
            return point_of(one.workload, field).has_value();
        });
    });
    return fields;
}

// A field by the name that shapes have for it, as in k=8192: that of the rows, if these have no
// field of that very name, as products have a k of their own.
std::string_view name_in_rows(const TimedRows& rows, std::string_view asked) {
    const std::vector<std::string_view> fields = fields_of(rows);
    const auto written = std::ranges::find_if(
        shape_fields(), [&](const ShapeField& field) { return same_word(asked, field.name); });
    if (!same_among(asked, fields).empty() || written == shape_fields().end()) {
        return "";
    }
    const auto found = std::ranges::find_if(fields, [&](std::string_view field) {
        for (std::string_view rest = written->aliases; !rest.empty();) {
            const std::string_view alias = rest.substr(0, rest.find(' '));
            if (alias == field) {
                return true;
            }
            rest.remove_prefix(std::min(alias.size() + 1, rest.size()));
        }
        return false;
    });
    return found == fields.end() ? "" : *found;
}

}  // namespace

std::vector<std::string_view> sweep_fields() {
    std::vector<std::string_view> names{both_lengths, same_tokens};
    for (const Field& field : own_fields) {
        names.push_back(field.name);
    }
    for (const std::string_view name : extent_names()) {
        names.push_back(name);
    }
    return names;
}

std::string_view words_for(std::string_view field) {
    return field == same_tokens ? "length at the same number of tokens" : field;
}

SweepLines lines_over(const TimedRows& rows, std::string_view field) {
    const Ran ran = tiles_of(rows);
    SweepLines lines;
    for (const TimedCase& one : rows.cases) {
        const std::optional<Point> point = point_of(one.workload, field);
        if (!point) {
            continue;
        }
        const bool several = ran.at(one.device + "\n" + one.kernel + "\n" + one.shape).size() > 1;
        const SweepKey key{one.device,  one.kernel, several ? tile_fields(one.about.tile) : "",
                           point->rest, one.commit, way_of(one)};
        const TimedCase*& known = lines[key][point->value];
        known = known == nullptr || known->written <= one.written ? &one : known;
    }
    std::erase_if(lines, [](const auto& line) { return line.second.size() < 3; });
    return lines;
}

std::string field_of(const TimedRows& rows, const std::string& wanted) {
    const std::vector<std::string_view> known = sweep_fields();
    const std::string_view of_shapes = name_in_rows(rows, wanted);
    const std::string_view same = of_shapes.empty() ? same_among(wanted, known) : of_shapes;
    const std::string asked = same.empty() ? wanted : std::string(same);
    std::string best{both_lengths};
    std::size_t most = 0;
    for (const std::string_view name : known) {
        std::size_t cases = 0;
        for (const auto& [key, line] : lines_over(rows, name)) {
            cases += line.size();
        }
        if (cases > most) {
            most = cases;
            best = name;
        }
    }
    require(asked.empty() || is_field(asked), Status::invalid_argument,
            "--over {}: a sweep runs over no such field{}", asked, one_of_these(asked, known));
    return asked.empty() ? best : asked;
}

std::string nothing_over(const TimedRows& rows, const std::string& asked) {
    const std::vector<std::string_view> fields = fields_of(rows);
    std::vector<std::string_view> swept = fields;
    std::erase_if(swept, [&](std::string_view field) { return lines_over(rows, field).empty(); });
    if (!swept.empty()) {
        return fmt::format(
            "No three cases of these receipts differ in {} alone, but some do in "
            "{}. --over {} draws these.",
            asked, fmt::join(swept, ", "), swept.front());
    }
    return fields.empty() ? "No three cases of these receipts differ in one field alone."
                          : fmt::format(
                                "No three cases of these receipts differ in one of their fields "
                                "alone: {}.",
                                fmt::join(fields, ", "));
}

}  // namespace raceline
