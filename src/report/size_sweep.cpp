// SPDX-License-Identifier: Apache-2.0
#include "report/size_sweep.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
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
#include "workload/shape_field.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using ProblemOf = std::function<Workload(std::int64_t size)>;

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

SizeSweep size_sweep(const std::string& shape, DType dtype, const SizeRange& range,
                     const Device& device, const LaunchCase& how, std::string_view kernel) {
    // The parser would say that it is given twice, of what nobody wrote twice.
    for (const std::string_view field : split_fields(shape)) {
        const std::string_view name = field.substr(0, field.find('='));
        require(!same_word(name, range.field), Status::invalid_argument,
                "--over {0} varies '{1}', and the shape has it already: leave {2} out of it",
                fmt::format("{}={}:{}", range.field, range.first, range.last), name, field);
    }
    const ProblemOf problem = [&](std::int64_t size) {
        return parse_shape(fmt::format("{},{}={}", shape, range.field, size), dtype);
    };
    const auto limiter_at = [&](std::int64_t size) {
        return speed_of_light(device, problem(size), how).limiter;
    };
    SizeSweep sweep;
    sweep.shape = shape;
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
