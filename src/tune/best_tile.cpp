// SPDX-License-Identifier: Apache-2.0
#include "tune/best_tile.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "registry/registry.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct Wanted {
    std::string_view field;
    std::int64_t value;
};

// "m=64,128 | n=32": every field of the kernel's tiles with the values that occur.
std::string tile_space(const Kernel& kernel) {
    std::string text;
    const std::size_t fields = kernel.tile_count() > 0 ? kernel.tile(0).size() : 0;
    for (std::size_t f = 0; f < fields; ++f) {
        std::vector<std::int64_t> values;
        values.reserve(static_cast<std::size_t>(kernel.tile_count()));
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            values.push_back(kernel.tile(tile)[f].second);
        }
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        text += fmt::format("{}{}=", text.empty() ? "" : " | ", kernel.tile(0)[f].first);
        for (std::size_t v = 0; v < values.size(); ++v) {
            text += fmt::format("{}{}", v == 0 ? "" : ",", values[v]);
        }
    }
    return text.empty() ? "no fields" : text;
}

void check_field(const Kernel& kernel, std::string_view text, const Wanted& wanted) {
    std::vector<std::string_view> names;
    for (const auto& field : kernel.tile(0)) {
        names.push_back(field.first);
    }
    if (std::find(names.begin(), names.end(), wanted.field) != names.end()) {
        return;
    }
    const std::string_view near = nearest(wanted.field, names);
    fail(Status::invalid_argument, "tile '{}' has a field '{}' that {} does not have{}; it has {}",
         text, wanted.field, kernel.name,
         near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), tile_space(kernel));
}

// As the kernel spells it today; another word as it is.
std::string_view known_field(const Kernel& kernel, std::string_view written) {
    for (const auto& [field, value] : kernel.tile(0)) {
        if (same_word(field, written)) {
            return field;
        }
    }
    return kernel.field_name(written);
}

Wanted parse_field(const Kernel& kernel, std::string_view text, std::string_view part) {
    const std::size_t equals = part.find('=');
    Wanted wanted{known_field(kernel, part.substr(0, equals)), 0};
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), wanted.value);
    require(
        !value.empty() && error == std::errc{} && end == value.data() + value.size(),
        Status::invalid_argument,
        "tile '{}': '{}' is not field=whole number; accepted are best, all, or fields of {}: {}",
        text, part, kernel.name, tile_space(kernel));
    check_field(kernel, text, wanted);
    return wanted;
}

std::vector<Wanted> parse_tile(const Kernel& kernel, std::string_view text) {
    std::vector<Wanted> wanted;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const Wanted next = parse_field(kernel, text, text.substr(start, end - start));
        for (const Wanted& known : wanted) {
            require(known.field != next.field, Status::invalid_argument,
                    "tile '{}' gives field '{}' twice; once is accepted", text, next.field);
        }
        wanted.push_back(next);
        start = end + 1;
    }
    return wanted;
}

bool matches(const TileFields& tile, const std::vector<Wanted>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const Wanted& want) {
        return std::find(tile.begin(), tile.end(), std::pair(want.field, want.value)) != tile.end();
    });
}

// Of `tiles`, those that support the workload; throws with the first reason if none does.
std::vector<int> supporting(const Kernel& kernel, const std::vector<int>& tiles,
                            const Workload& workload, const Device& device) {
    std::vector<int> fit;
    std::string reason = "it lists no tile";
    for (const int tile : tiles) {
        const std::string why = why_not(kernel, workload, tile, device);
        if (why.empty()) {
            fit.push_back(tile);
        } else if (tile == tiles.front()) {
            reason = fmt::format("{} (tile {})", why, kernel.tile_text(tile));
        }
    }
    require(!fit.empty(), Status::unsupported, "{} does not support {} on {}: {}", kernel.name,
            format_shape(workload), device.id, reason);
    return fit;
}

std::int64_t value_of(const TileFields& tile, std::string_view field) {
    const auto found =
        std::find_if(tile.begin(), tile.end(), [&](const auto& own) { return own.first == field; });
    return found == tile.end() ? 0 : found->second;
}

// How far a tile is from what was wanted: by how many fields, and then by what factors.
std::pair<int, double> distance(const TileFields& tile, const std::vector<Wanted>& wanted) {
    std::pair<int, double> far{0, 0};
    for (const Wanted& want : wanted) {
        const std::int64_t value = value_of(tile, want.field);
        far.first += value == want.value ? 0 : 1;
        far.second +=
            std::abs(std::log2((static_cast<double>(value) + 1) /
                               (static_cast<double>(std::max<std::int64_t>(want.value, 0)) + 1)));
    }
    return far;
}

// "rows=128,keys=128 or rows=192,keys=64": of the tiles that serve the workload the nearest values
// of the fields that were wanted; "" where none does.
std::string nearest_values(const Kernel& kernel, const std::vector<Wanted>& wanted,
                           const Workload& workload, const Device& device) {
    constexpr std::size_t most = 3;
    std::vector<std::pair<std::pair<int, double>, std::string>> offered;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!why_not(kernel, workload, tile, device).empty()) {
            continue;
        }
        std::string text;
        for (const Wanted& want : wanted) {
            text += fmt::format("{}{}={}", text.empty() ? "" : ",", want.field,
                                value_of(kernel.tile(tile), want.field));
        }
        offered.emplace_back(distance(kernel.tile(tile), wanted), std::move(text));
    }
    std::sort(offered.begin(), offered.end());
    offered.erase(std::unique(offered.begin(), offered.end()), offered.end());
    std::string nearest;
    for (std::size_t i = 0; i < std::min(most, offered.size()); ++i) {
        nearest += (nearest.empty() ? "" : " or ") + offered[i].second;
    }
    return nearest;
}

std::vector<int> all_tiles(const Kernel& kernel) {
    std::vector<int> tiles(static_cast<std::size_t>(kernel.tile_count()));
    std::iota(tiles.begin(), tiles.end(), 0);
    return tiles;
}

}  // namespace

std::vector<TileChoice> ranked_tiles(const Kernel& kernel, const Workload& workload,
                                     const Device& device, const LaunchCase& how,
                                     Calibration calibration) {
    std::optional<ConstantWatch> stand_ins;
    if (calibration == Calibration::left_out) {
        stand_ins.emplace(ConstantWatch::Calibrated::stand_in);
    }
    std::vector<TileChoice> ranked;
    for (const int tile : all_tiles(kernel)) {
        if (!kernel.why_not(workload, tile, device).empty()) {
            continue;
        }
        const std::vector<Counts> launches = kernel.counts(workload, tile, device);
        if (why_not(launches, device).empty()) {
            ranked.push_back({tile, predict(device, launches, how)});
        }
    }
    // Equal times keep the order in which the kernel lists its tiles.
    std::sort(ranked.begin(), ranked.end(), [](const TileChoice& a, const TileChoice& b) {
        return std::pair(a.prediction.seconds, a.tile) < std::pair(b.prediction.seconds, b.tile);
    });
    return ranked;
}

std::vector<int> select_tiles(const Kernel& kernel, std::string_view text, const Workload& workload,
                              const Device& device, const LaunchCase& how,
                              Calibration calibration) {
    const std::vector<int> every = all_tiles(kernel);
    if (same_word(text, "best")) {
        const auto ranked = ranked_tiles(kernel, workload, device, how, calibration);
        return ranked.empty() ? supporting(kernel, every, workload, device)
                              : std::vector{ranked.front().tile};
    }
    if (same_word(text, "all")) {
        return supporting(kernel, every, workload, device);
    }
    require(!every.empty(), Status::invalid_argument,
            "tile '{}' cannot be chosen: {} lists no tile", text, kernel.name);
    const std::vector<Wanted> wanted = parse_tile(kernel, text);
    std::vector<int> chosen;
    std::copy_if(every.begin(), every.end(), std::back_inserter(chosen),
                 [&](int tile) { return matches(kernel.tile(tile), wanted); });
    if (chosen.empty()) {
        const std::string near = nearest_values(kernel, wanted, workload, device);
        fail(Status::invalid_argument,
             "tile '{}' matches none of the {} tiles of {}; {}its fields and their values are {}",
             text, every.size(), kernel.name,
             near.empty()
                 ? ""
                 : fmt::format("nearest of those for {} is {}; ", format_shape(workload), near),
             tile_space(kernel));
    }
    const bool serves = std::any_of(chosen.begin(), chosen.end(), [&](int tile) {
        return why_not(kernel, workload, tile, device).empty();
    });
    if (!serves) {
        // Where others do serve, they come before the reason.
        const std::string near = nearest_values(kernel, wanted, workload, device);
        require(near.empty(), Status::unsupported,
                "no tile '{}' of {} is for {} on {}; nearest of those that are is {}; {} refuses "
                "it: {}",
                text, kernel.name, format_shape(workload), device.id, near,
                kernel.tile_text(chosen.front()),
                why_not(kernel, workload, chosen.front(), device));
    }
    return supporting(kernel, chosen, workload, device);
}

}  // namespace raceline
