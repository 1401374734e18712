// SPDX-License-Identifier: Apache-2.0
#include "model/work_point.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <string_view>
#include <vector>

#include "device/rate_origin.hpp"
#include "model/limiter_share.hpp"
#include "model/rates.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline {
namespace {

void require_amount(std::string_view name, double value) {
    // Beyond these a quotient may be no number. The same holds of files and of the command line.
    constexpr double least = 1e-30;
    constexpr double most = 1e30;
    require(std::isfinite(value) && value >= 0, Status::invalid_argument,
            "{} is {}; it must be a number, 0 or more", name, value);
    require(value == 0 || (value >= least && value <= most), Status::invalid_argument,
            "{} is {}; from 1e-30 to 1e30 is accepted", name, value);
}

bool is_whole_device(std::string_view id) {
    return !id.ends_with(".unit") && !id.ends_with(".burst") && !id.ends_with(unscaled_suffix);
}

// Rates that begin with one of these, of the whole device.
std::vector<std::string_view> ids_of(const Device& device,
                                     std::initializer_list<std::string_view> first) {
    std::vector<std::string_view> ids;
    for (const auto& rate : device.rates) {
        const std::string_view id = rate.first;
        const bool fits =
            std::ranges::any_of(first, [&](std::string_view word) { return id.starts_with(word); });
        if (fits && is_whole_device(id)) {
            ids.push_back(id);
        }
    }
    return ids;
}

std::string_view without_first_word(std::string_view id) {
    return id.substr(id.find('.') + 1);
}

// What a type alone may say: of "flop.wgmma.bf16" its last word.
std::vector<std::string_view> types_of(const std::vector<std::string_view>& ids) {
    std::vector<std::string_view> types;
    for (const std::string_view id : ids) {
        if (id.starts_with("flop.")) {
            types.push_back(id.substr(id.rfind('.') + 1));
        }
    }
    return types;
}

[[noreturn]] void refuse(const Device& device, std::string_view name, std::string_view given,
                         const std::vector<std::string_view>& ids) {
    std::vector<std::string_view> words;
    words.reserve(ids.size());
    for (const std::string_view id : ids) {
        words.push_back(without_first_word(id));
    }
    if (name == "memory") {
        words.insert(words.begin(), dram);
    }
    require(!given.empty(), Status::invalid_argument, "{} is missing; {} has {}", name, device.name,
            words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", ")));
    const std::string_view whole = nearest(given, ids);
    std::string_view meant = whole.empty() ? nearest(given, words) : without_first_word(whole);
    if (meant.empty() && name == "engine") {  // "bf17" is far from every id, and near a type
        meant = nearest(given, types_of(ids));
    }
    fail(Status::invalid_argument, "{} is '{}', of which {} has no rate{}; it has {}", name, given,
         device.name, meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant),
         words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", ")));
}

// The rate that a word names: an id, or what stands behind its first word; of a type alone the
// fastest engine that ends with it.
std::string id_of(const Device& device, std::string_view name, std::string_view given,
                  const std::vector<std::string_view>& ids) {
    std::string_view best;
    for (const std::string_view id : ids) {
        if (id == given || without_first_word(id) == given) {
            return std::string(id);
        }
        // Half-precision multiply-adds of ordinary lanes add in half precision: named, or not
        // meant.
        const bool of_type = id.starts_with("flop.") && id != "flop.fma.fp16" &&
                             id.substr(id.rfind('.') + 1) == given;
        if (of_type &&
            (best.empty() || highest_rate(device, id)->value > highest_rate(device, best)->value)) {
            best = id;
        }
    }
    if (best.empty()) {
        refuse(device, name, given, ids);
    }
    return std::string(best);
}

void add_compute(const Device& device, const WorkPoint& point, PointVerdict& verdict) {
    if (point.flops == 0 && point.engine.empty()) {
        return;
    }
    const auto ids = ids_of(device, {"flop.", "op."});
    if (point.engine.empty()) {
        refuse(device, "engine", "", ids);
    }
    verdict.engine = id_of(device, "engine", point.engine, ids);
    verdict.engine_rate = highest_rate(device, verdict.engine)->value;
    verdict.compute_seconds = point.flops / verdict.engine_rate;
}

void add_memory(const Device& device, const WorkPoint& point, PointVerdict& verdict) {
    if (point.bytes == 0) {
        return;
    }
    const std::string_view given =
        point.memory == dram ? std::string_view("byte.dram_read") : std::string_view(point.memory);
    verdict.memory = id_of(device, "memory", given, ids_of(device, {"byte."}));
    verdict.memory_rate = highest_rate(device, verdict.memory)->value;
    verdict.memory_seconds = point.bytes / verdict.memory_rate;
}

}  // namespace

PointVerdict judge_point(const Device& device, const WorkPoint& point) {
    require_amount("flops", point.flops);
    require_amount("bytes", point.bytes);
    require_amount("seconds", point.seconds);
    require(point.flops > 0 || point.bytes > 0, Status::invalid_argument,
            "flops and bytes are 0; a point has one of them at least");
    PointVerdict v;
    add_compute(device, point, v);
    add_memory(device, point, v);
    const bool by_memory = v.memory_seconds >= v.compute_seconds;
    v.bound_seconds = std::max(v.memory_seconds, v.compute_seconds);
    v.limiter = by_memory ? v.memory : v.engine;
    v.rates = origin_text(*highest_rate(device, v.limiter));
    v.intensity = point.bytes > 0 ? point.flops / point.bytes : 0;
    v.ridge = v.memory_rate > 0 ? v.engine_rate / v.memory_rate : 0;
    v.of_roof = point.seconds > 0 ? v.bound_seconds / point.seconds : 0;
    v.gain_of_tenth = v.bound_seconds / std::max(v.bound_seconds / 1.1,
                                                 std::min(v.memory_seconds, v.compute_seconds));
    return v;
}

std::string_view standing_of(const PointVerdict& verdict) {
    constexpr double close = 0.03;
    return verdict.of_roof == 0               ? "not measured"
           : verdict.of_roof > 1 + close      ? "beyond the roof"
           : verdict.of_roof >= 1 - close     ? "at the roof"
           : verdict.of_roof >= limiter_share ? "limited by it"
                                              : "waits";
}

}  // namespace raceline
