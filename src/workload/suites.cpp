// SPDX-License-Identifier: Apache-2.0
// Suites by name, whole and in parts.
#include "workload/suites.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/ranges.h>
#include <span>

#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/operation_suites.hpp"
#include "workload/random_suite.hpp"
#include "workload/serving_suite.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suite_lists.hpp"

namespace raceline {
namespace {

constexpr std::string_view random_prefix = "random:";
constexpr std::string_view serving_prefix = "serving:";
constexpr std::string_view operations_prefix = "operations:";
constexpr std::string_view layer_prefix = "layer:";
constexpr std::size_t random_count = 20;  // of each

std::vector<Workload> parse_all(const std::vector<std::string>& shapes) {
    std::vector<Workload> workloads;
    for (const std::string& shape : shapes) {
        workloads.push_back(parse_shape(shape));
    }
    return workloads;
}

std::span<const SuiteEntry> entries(SuiteGroup group) {
    switch (group) {
        case SuiteGroup::measurement: return measuring_suites();
        case SuiteGroup::check: return checking_suites();
        case SuiteGroup::benchmark: break;
    }
    return benchmark_suites();
}

/// `text` is a whole number and nothing else.
template <class Number>
std::optional<Number> whole(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
}

/// What stands behind the colon.
std::uint64_t seed_of(std::string_view name, std::string_view prefix) {
    const auto seed = whole<std::uint64_t>(name.substr(prefix.size()));
    require(seed.has_value(), Status::invalid_argument,
            "suite '{0}' needs a seed from 0 to 2^64 - 1, such as {0}7", prefix);
    return *seed;
}

Suite serving_suite(std::string_view name) {
    const std::uint64_t seed = seed_of(name, serving_prefix);
    return {fmt::format("{}{}", serving_prefix, seed),
            "20 batches of a server's decode steps, drawn from a seed",
            draw_serving(seed, random_count)};
}

Suite random_suite(std::string_view name) {
    const std::uint64_t seed = seed_of(name, random_prefix);
    std::vector<Workload> taken;
    for (const SuiteEntry& entry : benchmark_suites()) {
        const auto workloads = parse_all(entry.shapes());
        taken.insert(taken.end(), workloads.begin(), workloads.end());
    }
    return {fmt::format("{}{}", random_prefix, seed),
            "20 shapes drawn from a seed, in no benchmark suite",
            draw_workloads(seed, random_count, taken)};
}

Suite drawn_operations(std::string_view name) {
    return {std::string(name), "20 operations beside attention, drawn from a seed",
            draw_operations(seed_of(name, operations_prefix), random_count)};
}

Suite layer_suite(std::string_view name) {
    return {std::string(name), "the parts of a decoder layer, in the order in which they run",
            parse_all(layer_shapes(name.substr(layer_prefix.size())))};
}

constexpr std::array<std::string_view, 5> drawn_names{
    "operations:SEED", "layer:MODEL:prefill=TOKENS", "layer:MODEL:decode=SEQUENCESxKEYS",
    "random:SEED", "serving:SEED"};

[[noreturn]] void refuse_name(std::string_view name) {
    // All are near or not; those that are said are the ones that a reader looks for.
    const std::vector<std::string> all = suite_names();
    std::vector<std::string_view> near(all.begin(), all.end());
    near.insert(near.end(), drawn_names.begin(), drawn_names.end());
    std::vector<std::string> named = suite_names(SuiteGroup::benchmark);
    named.insert(named.end(), drawn_names.begin(), drawn_names.end());
    const std::string_view shown = name.substr(0, 40);
    fail(Status::invalid_argument, "suite '{}' does not exist{}", shown,
         did_you_mean(shown, near,
                      fmt::format("there are {} and {} more that `raceline help bench` lists",
                                  fmt::join(named, ", "), near.size() - named.size())));
}

Suite whole_suite(std::string_view name) {
    for (const SuiteGroup group : suite_groups) {
        for (const SuiteEntry& entry : entries(group)) {
            if (same_word(entry.name, name)) {
                return {std::string(entry.name), std::string(entry.summary),
                        parse_all(entry.shapes())};
            }
        }
    }
    refuse_name(name);
}

/// NAME:HEADDIM. Parts by powers of two make up the suite and share nothing.
Suite part_of_suite(std::string_view name, std::size_t colon) {
    Suite suite = whole_suite(name.substr(0, colon));
    const auto most = whole<std::int64_t>(name.substr(colon + 1));
    require(most && *most >= 1 && *most <= 1024, Status::invalid_argument,
            "suite '{}': behind the colon stands a head dim from 1 to 1024, as in {}:128",
            name.substr(0, 40), suite.name);
    std::erase_if(suite.workloads,
                  [&](const Workload& w) { return w.headdim > *most || 2 * w.headdim <= *most; });
    require(!suite.workloads.empty(), Status::invalid_argument,
            "suite '{}' has no shape of a head dim over {} and at most {}", suite.name, *most / 2,
            *most);
    suite.summary += fmt::format(", head dims over {} and at most {}", *most / 2, *most);
    suite.name = fmt::format("{}:{}", suite.name, *most);
    return suite;
}

bool begins_with_word(std::string_view name, std::string_view prefix) {
    return same_word(name.substr(0, prefix.size()), prefix);
}

Suite named_suite(std::string_view name) {
    if (begins_with_word(name, random_prefix)) {
        return random_suite(name);
    }
    if (begins_with_word(name, serving_prefix)) {
        return serving_suite(name);
    }
    if (name.starts_with(operations_prefix)) {
        return drawn_operations(name);
    }
    if (name.starts_with(layer_prefix)) {
        return layer_suite(name);
    }
    const std::size_t colon = name.find(':');
    return colon == std::string_view::npos ? whole_suite(name) : part_of_suite(name, colon);
}

}  // namespace

Suite make_suite(std::string_view name, std::optional<DType> dtype) {
    Suite suite = named_suite(name);
    if (!dtype) {
        return suite;
    }
    std::vector<Workload> overridden;
    for (Workload& w : suite.workloads) {
        w.kv_dtype = w.kv_dtype == w.dtype ? *dtype : w.kv_dtype;
        w.dtype = *dtype;
        validate(w);
        // Shapes that differed in their type alone are now one.
        if (std::find(overridden.begin(), overridden.end(), w) == overridden.end()) {
            overridden.push_back(std::move(w));
        }
    }
    suite.workloads = std::move(overridden);
    return suite;
}

std::vector<std::string> suite_names(SuiteGroup group) {
    std::vector<std::string> names;
    for (const SuiteEntry& entry : entries(group)) {
        names.emplace_back(entry.name);
    }
    return names;
}

std::vector<std::string> suite_names() {
    std::vector<std::string> names;
    for (const SuiteGroup group : suite_groups) {
        const auto more = suite_names(group);
        names.insert(names.end(), more.begin(), more.end());
    }
    return names;
}

}  // namespace raceline
