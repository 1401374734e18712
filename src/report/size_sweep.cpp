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

/// Why no kernel serves this size, or "".
std::string add_row(TextTable& table, std::int64_t size, const Workload& w, const Device& device,
                    const LaunchCase& how, std::string_view kernel) {
    std::string refusal;
    const SpeedOfLight bound = speed_of_light(device, w, how);
    std::vector<std::string> cells{
        fmt::format("{}", size), format_number(bound.arithmetic_intensity),
        format_number(bound.ridge), bound.limiter, format_seconds(bound.seconds)};
    try {
        Case which;
        const api::EngineChoice choice =
            api::choose_engine(w, device, how.threads, {.backend = kernel, .must_run = false});
        which.kernel = choice.kernel;
        which.tile = choice.tile;
        which.workload = w;
        which.options.how = how;
        const Prediction prediction = explain_case(which, device).prediction;
        cells.insert(cells.end(), {std::string(choice.kernel->name), prediction.limiter,
                                   format_seconds(prediction.expected_seconds),
                                   format_seconds(prediction.seconds),
                                   achieved_rate(w.flops(), w.bytes_read() + w.bytes_written(),
                                                 prediction.expected_seconds)});
    } catch (const Error& error) {
        if (error.status() != Status::unsupported) {
            throw;
        }
        cells.insert(cells.end(), {"none", "", "", "", ""});
        refusal = error.what();
    }
    table.add(std::move(cells));
    return refusal;
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

std::string size_sweep_text(const std::string& shape, DType dtype, const SizeRange& range,
                            const Device& device, const LaunchCase& how, const TextStyle& style,
                            std::string_view kernel) {
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
    TextTable table(">" + range.field +
                    " | >?2 FLOP/B | >?1 ridge | bound by | >bound | ?5 kernel | ?4 limiter | "
                    ">expected | >?3 model | >?2 rate");
    std::string crossings;
    std::string refusal;
    bool served = false;
    const std::vector<std::int64_t> sizes = sizes_of(range);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        refusal = add_row(table, sizes[i], problem(sizes[i]), device, how, kernel);
        served = served || refusal.empty();
        // Between two rows more than one may change: from the launch to memory to arithmetic.
        std::int64_t from = sizes[i == 0 ? 0 : i - 1];
        while (limiter_at(from) != limiter_at(sizes[i])) {
            const std::string before = limiter_at(from);
            const std::int64_t last = last_limited_by(before, from, sizes[i], limiter_at);
            from = last + 1;
            crossings += fmt::format("up to {0}={1} {2} bounds it, from {0}={3} on {4}\n",
                                     range.field, last, before, from, limiter_at(from));
        }
    }
    require(served || kernel.empty(), Status::unsupported, "{}", refusal);
    return fmt::format("{} on {}, over {}\n{}{}", heading_shape(shape, style), device.id,
                       range.field, table.str(style),
                       crossings.empty()
                           ? fmt::format("{} bounds it everywhere\n", limiter_at(range.first))
                           : crossings);
}

}  // namespace raceline
