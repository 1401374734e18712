// SPDX-License-Identifier: Apache-2.0
#include "report/size_sweep.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <limits>
#include <vector>

#include "api/engine_choice.hpp"
#include "model/speed_of_light.hpp"
#include "report/case_columns.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "support/text_table.hpp"
#include "workload/operation.hpp"
#include "workload/shape_field.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {

std::vector<VariedSize> varied_sizes(const OperationRecord& operation) {
    // Other numbers, such as a softcap, are no sizes.
    constexpr std::array<std::string_view, 7> of_attention{"b", "h",    "q",     "k",
                                                           "d", "page", "window"};
    std::vector<VariedSize> sizes;
    for (const OperationField& field : operation.fields.value) {
        if (field.kind == FieldKind::grid) {
            sizes.push_back({grid_rows, field.meaning});
            sizes.push_back({grid_width, field.meaning});
        } else if ((field.kind == FieldKind::count && field.fallback.empty()) ||
                   (field.kind == FieldKind::own &&
                    std::ranges::count(of_attention, field.name) > 0)) {
            sizes.push_back({field.name, field.meaning});
        }
    }
    return sizes;
}

namespace {

using ProblemOf = std::function<Workload(std::int64_t size)>;

/// A shape's text around the size that varies.
struct OpenShape {
    std::string before, behind;
    std::string heading;  ///< as it is printed

    [[nodiscard]] Workload with(std::int64_t size, DType dtype) const {
        return parse_shape(fmt::format("{}{}{}", before, size, behind), dtype);
    }
};

std::string value_in(std::string_view shape, std::string_view name) {
    for (const std::string_view field : split_fields(shape)) {
        const std::size_t equals = field.find('=');
        if (equals != std::string_view::npos && same_word(field.substr(0, equals), name)) {
            return std::string(field.substr(equals + 1));
        }
    }
    return {};
}

std::string text_of(const SizeRange& range) {
    return fmt::format("{}={}:{}", range.field, range.first, range.last);
}

bool is_part_of_grid(const OperationRecord& operation, std::string_view field) {
    return (same_word(field, grid_rows) || same_word(field, grid_width)) &&
           std::ranges::count(operation.fields.value, FieldKind::grid, &OperationField::kind) > 0;
}

/// `op`: as it is written.
void require_size(const OperationRecord& operation, std::string_view op, const SizeRange& range) {
    const bool attention = operation.name.value == Workload{}.op;
    if (is_part_of_grid(operation, range.field) || (attention && is_shape_field(range.field)) ||
        std::ranges::any_of(operation.fields.value, [&](const OperationField& field) {
            return same_word(field.name, range.field);
        })) {
        return;
    }
    std::vector<std::string_view> names;
    for (const VariedSize& size : varied_sizes(operation)) {
        names.push_back(size.name);
    }
    fail(Status::invalid_argument, "--over {}: no size of {} is called {}{}", text_of(range), op,
         in_quotes(range.field),
         did_you_mean(std::string_view(range.field).substr(0, 40), names,
                      fmt::format("it can vary {}", fmt::join(names, ", "))));
}

// Of n=1024x4096 the rows or the width, which are no fields of their own.
OpenShape without_part_of_grid(const std::string& shape, const OperationRecord& operation,
                               const SizeRange& range) {
    const auto grid =
        std::ranges::find(operation.fields.value, FieldKind::grid, &OperationField::kind);
    const bool rows = same_word(range.field, grid_rows);
    const std::string given = value_in(shape, grid->name);
    const std::size_t times = given.find_first_of("xX");
    require(!given.empty(), Status::invalid_argument,
            "--over {} takes the {} from {}: give it as well, as in {}={}", text_of(range),
            rows ? grid_width : grid_rows, grid->name, grid->name, rows ? "1x4096" : "4096x1");
    OpenShape open;
    for (const std::string_view field : split_fields(shape)) {
        if (!same_word(field.substr(0, field.find('=')), grid->name)) {
            open.before += std::string(field) + ",";
        }
    }
    const bool both = times != std::string::npos;
    open.before += fmt::format("{}=", grid->name);
    if (rows) {
        open.behind = "x" + (both ? given.substr(times + 1) : given);
    } else {
        open.before += both ? given.substr(0, times) + "x" : "1x";
    }
    open.heading = open.before + (rows ? "ROWS" : "WIDTH") + open.behind;
    return open;
}

OpenShape open_shape(const std::string& shape, const SizeRange& range) {
    const std::string given = value_in(shape, "op");
    const std::string op = given.empty() ? Workload{}.op : spelled_operation(given);
    const OperationRecord& operation = *named_operation(op).record;
    require_size(operation, op, range);
    if (is_part_of_grid(operation, range.field)) {
        return without_part_of_grid(shape, operation, range);
    }
    // The parser would say that it is given twice, of what nobody wrote twice.
    for (const std::string_view field : split_fields(shape)) {
        const std::string_view name = field.substr(0, field.find('='));
        require(!same_word(name, range.field), Status::invalid_argument,
                "--over {0} varies '{1}', and the shape has it already: leave {2} out of it",
                text_of(range), name, field);
    }
    return {fmt::format("{},{}=", shape, range.field), "", shape};
}

std::vector<std::int64_t> sizes_of(const SizeRange& range) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t size = range.first; size < range.last; size *= 2) {
        sizes.push_back(size);
    }
    sizes.push_back(range.last);
    return sizes;
}

/// The last size that `limiter` limits; it does at `low`, and another does at `high`.
std::int64_t last_limited_by(const std::string& limiter, std::int64_t low, std::int64_t high,
                             const std::function<std::string(std::int64_t)>& limiter_at) {
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (limiter_at(middle) == limiter ? low : high) = middle;
    }
    return low;
}

SizedProblem sized_problem(std::int64_t size, const Workload& w, const Device& device,
                           const LaunchCase& how, std::string_view kernel) {
    SizedProblem sized;
    sized.size = size;
    sized.bound = speed_of_light(device, w, how);
    try {
        Case which;
        const api::EngineChoice choice =
            api::choose_engine(w, device, how.threads, {.backend = kernel, .must_run = false});
        which.kernel = choice.kernel;
        which.tile = choice.tile;
        which.workload = w;
        which.options.how = how;
        const Prediction prediction = explain_case(which, device).prediction;
        sized.kernel = choice.kernel->name;
        sized.limiter = prediction.limiter;
        sized.expected = prediction.expected_seconds;
        sized.model = prediction.seconds;
        sized.rate = achieved_rate(w.flops(), w.bytes_read() + w.bytes_written(), sized.expected);
    } catch (const Error& error) {
        if (error.status() != Status::unsupported) {
            throw;
        }
        sized.refusal = error.what();
    }
    return sized;
}

void add_row(TextTable& table, const SizedProblem& one) {
    std::vector<std::string> cells{
        fmt::format("{}", one.size), format_number(one.bound.arithmetic_intensity),
        format_number(one.bound.ridge), one.bound.limiter, format_seconds(one.bound.seconds)};
    if (one.kernel.empty()) {
        cells.insert(cells.end(), {"none", "", "", "", ""});
    } else {
        cells.insert(cells.end(), {one.kernel, one.limiter, format_seconds(one.expected),
                                   format_seconds(one.model), one.rate});
    }
    table.add(std::move(cells));
}

}  // namespace

SizeRange parse_size_range(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::size_t colon = text.find(':', equals == std::string_view::npos ? 0 : equals);
    require(equals != std::string_view::npos && equals > 0 && colon != std::string_view::npos,
            Status::invalid_argument,
            "--over is {}; it must be a field and a range, as in m=1:4096", in_quotes(text));
    SizeRange range{std::string(text.substr(0, equals)), 0, 0};
    range.first = parse_count(range.field, text.substr(equals + 1, colon - equals - 1));
    range.last = parse_count(range.field, text.substr(colon + 1));
    require(range.first >= 1 && range.last > range.first, Status::invalid_argument,
            "--over {} goes from {} to {}; it must go from 1 or more to more than that",
            in_quotes(text), range.first, range.last);
    return range;
}

Workload problem_of_size(const std::string& shape, std::string_view field, std::int64_t size) {
    return open_shape(shape, {std::string(field), size, size}).with(size, DType::bf16);
}

SizeSweep size_sweep(const std::string& shape, DType dtype, const SizeRange& range,
                     const Device& device, const LaunchCase& how, std::string_view kernel) {
    const OpenShape open = open_shape(shape, range);
    const ProblemOf problem = [&](std::int64_t size) { return open.with(size, dtype); };
    const auto limiter_at = [&](std::int64_t size) {
        return speed_of_light(device, problem(size), how).limiter;
    };
    SizeSweep sweep;
    sweep.shape = open.heading;
    sweep.field = range.field;
    sweep.device = device.id;
    const std::vector<std::int64_t> sizes = sizes_of(range);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        sweep.sizes.push_back(sized_problem(sizes[i], problem(sizes[i]), device, how, kernel));
        // Between two sizes more than one may change: from the launch to memory to arithmetic.
        std::int64_t from = sizes[i == 0 ? 0 : i - 1];
        while (limiter_at(from) != limiter_at(sizes[i])) {
            const std::string before = limiter_at(from);
            const std::int64_t last = last_limited_by(before, from, sizes[i], limiter_at);
            from = last + 1;
            const SpeedOfLight bound = speed_of_light(device, problem(from), how);
            sweep.crossings.push_back({last, before, bound.limiter, bound});
        }
    }
    const bool served = std::ranges::any_of(
        sweep.sizes, [](const SizedProblem& one) { return !one.kernel.empty(); });
    require(served || kernel.empty(), Status::unsupported, "{}", sweep.sizes.back().refusal);
    return sweep;
}

std::string size_sweep_text(const SizeSweep& sweep, const TextStyle& style) {
    TextTable table(">" + sweep.field +
                    " | >?2 FLOP/B | >?1 ridge | bound by | >bound | ?5 kernel | ?4 limiter | "
                    ">expected | >?3 model | >?2 rate");
    for (const SizedProblem& one : sweep.sizes) {
        add_row(table, one);
    }
    std::string crossings;
    for (const auto& [last, before, after, bound] : sweep.crossings) {
        crossings += fmt::format("up to {0}={1} {2} bounds it, from {0}={3} on {4}\n", sweep.field,
                                 last, before, last + 1, after);
    }
    return fmt::format("{} on {}, over {}\n{}{}", heading_shape(sweep.shape, style), sweep.device,
                       sweep.field, table.str(style),
                       crossings.empty() ? fmt::format("{} bounds it everywhere\n",
                                                       sweep.sizes.front().bound.limiter)
                                         : crossings);
}

}  // namespace raceline
