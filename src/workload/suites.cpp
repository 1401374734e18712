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

constexpr std::size_t random_count = 20;  // cases of each that is drawn
constexpr std::string_view random_prefix = "random:";
constexpr std::string_view serving_prefix = "serving:";
constexpr std::string_view operations_prefix = "operations:";
constexpr std::string_view any_operations_prefix = "operations-any:";
constexpr std::string_view layer_prefix = "layer:";

std::vector<Workload> parse_all(const std::vector<std::string>& shapes) {
    std::vector<Workload> workloads;
    workloads.reserve(shapes.size());
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
    if (!seed) {
        fail(Status::invalid_argument, "suite '{0}' needs a seed from 0 to 2^64 - 1, such as {0}7",
             prefix);
    }
    return *seed;
}

// `draw` makes the workloads of a seed.
template <class Draw>
Suite drawn_suite(std::string_view name, std::string_view prefix, std::string_view what,
                  const Draw& draw) {
    const std::uint64_t seed = seed_of(name, prefix);
    return {fmt::format("{}{}", prefix, seed), std::string(what), draw(seed)};
}

Suite serving_suite(std::string_view name) {
    return drawn_suite(name, serving_prefix,
                       "20 batches of a server's decode steps, drawn from a seed",
                       [](std::uint64_t seed) { return draw_serving(seed, random_count); });
}

Suite random_suite(std::string_view name) {
    return drawn_suite(name, random_prefix, "20 shapes drawn from a seed, in no benchmark suite",
                       [](std::uint64_t seed) {
                           std::vector<Workload> taken;
                           for (const SuiteEntry& entry : benchmark_suites()) {
                               const auto workloads = parse_all(entry.shapes());
                               taken.insert(taken.end(), workloads.begin(), workloads.end());
                           }
                           return draw_workloads(seed, random_count, taken);
                       });
}

Suite drawn_operations(std::string_view name) {
    return drawn_suite(name, operations_prefix, "20 operations beside attention, drawn from a seed",
                       [](std::uint64_t seed) { return draw_operations(seed, random_count); });
}

Suite drawn_any_operations(std::string_view name) {
    return drawn_suite(name, any_operations_prefix,
                       "20 operations of any size beside attention, drawn from a seed",
                       [](std::uint64_t seed) { return draw_any_operations(seed, random_count); });
}

Suite layer_suite(std::string_view name) {
    const std::string_view layer = name.substr(layer_prefix.size());
    const std::vector<std::string> shapes = layer_shapes(layer);
    return {fmt::format("{}{}", layer_prefix, layer_name(layer)),
            "the parts of a decoder layer, in the order in which they run", parse_all(shapes)};
}

// Of two of which one begins as the other, the shorter one stands first.
constexpr std::array<std::string_view, 6> drawn_names{"operations:SEED",
                                                      "operations-any:SEED",
                                                      "layer:MODEL:prefill=TOKENS",
                                                      "layer:MODEL:decode=SEQUENCESxKEYS",
                                                      "random:SEED",
                                                      "serving:SEED"};

// A word with a colon behind it that was meant to be one of the names that go on there, such as
// layers:llama3-8b:decode=1x64.
std::string_view meant_to_go_on(std::string_view name) {
    constexpr std::string_view of_decode = "decode";
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos) {
        return {};
    }
    std::vector<std::string_view> heads;
    heads.reserve(drawn_names.size());
    for (const std::string_view drawn : drawn_names) {
        heads.push_back(drawn.substr(0, drawn.find(':')));
    }
    const std::string_view head = nearest(name.substr(0, colon), heads);
    const bool decode = !std::ranges::search(name, of_decode, [](char a, char b) {
                             return same_word({&a, 1}, {&b, 1});
                         }).empty();
    for (const std::string_view drawn : drawn_names) {
        const bool other_call = head == "layer" && drawn.ends_with("TOKENS") == decode;
        if (!head.empty() && drawn.starts_with(head) && !other_call) {
            return drawn;
        }
    }
    return {};
}

// `name` as far as it is none; `whole` as it was written.
[[noreturn]] void refuse_name(std::string_view name, std::string_view whole) {
    // All are near or not; those that are said are the ones that a reader looks for.
    const std::vector<std::string> all = suite_names();
    std::vector<std::string_view> near(all.begin(), all.end());
    near.insert(near.end(), drawn_names.begin(), drawn_names.end());
    const std::string_view going_on = meant_to_go_on(whole);
    if (nearest(name, near).empty() && !going_on.empty()) {
        fail(Status::invalid_argument, "suite '{}' does not exist: did you mean '{}'?",
             whole.substr(0, 40), going_on);
    }
    std::vector<std::string> named = suite_names(SuiteGroup::benchmark);
    named.insert(named.end(), drawn_names.begin(), drawn_names.end());
    const std::string_view shown = name.substr(0, 40);
    fail(Status::invalid_argument, "suite '{}' does not exist{}", shown,
         did_you_mean(shown, near,
                      fmt::format("there are {} and {} more that `raceline help bench` lists",
                                  fmt::join(named, ", "), near.size() - named.size())));
}

Suite whole_suite(std::string_view name, std::string_view written) {
    for (const SuiteGroup group : suite_groups) {
        for (const SuiteEntry& entry : entries(group)) {
            if (same_word(entry.name, name)) {
                return {std::string(entry.name), std::string(entry.summary),
                        parse_all(entry.shapes())};
            }
        }
    }
    refuse_name(name, written);
}

/// NAME:HEADDIM. Parts by powers of two make up the suite and share nothing.
Suite part_of_suite(std::string_view name, std::size_t colon) {
    Suite suite = whole_suite(name.substr(0, colon), name);
    const std::int64_t most = whole<std::int64_t>(name.substr(colon + 1)).value_or(0);
    require(most >= 1 && most <= 1024, Status::invalid_argument,
            "suite '{}': behind the colon stands a head dim from 1 to 1024, as in {}:128",
            name.substr(0, 40), suite.name);
    std::erase_if(suite.workloads,
                  [&](const Workload& w) { return w.headdim > most || 2 * w.headdim <= most; });
    require(!suite.workloads.empty(), Status::invalid_argument,
            "suite '{}' has no shape of a head dim over {} and at most {}", suite.name, most / 2,
            most);
    suite.summary += fmt::format(", head dims over {} and at most {}", most / 2, most);
    suite.name = fmt::format("{}:{}", suite.name, most);
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
    if (begins_with_word(name, operations_prefix)) {
        return drawn_operations(name);
    }
    if (begins_with_word(name, any_operations_prefix)) {
        return drawn_any_operations(name);
    }
    if (begins_with_word(name, layer_prefix)) {
        return layer_suite(name);
    }
    const std::size_t colon = name.find(':');
    return colon == std::string_view::npos ? whole_suite(name, name) : part_of_suite(name, colon);
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
