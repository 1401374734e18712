// SPDX-License-Identifier: Apache-2.0
#include "run/point_names.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "device/rate_origin.hpp"
#include "model/rates.hpp"
#include "support/nearest.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

bool is_of_device(std::string_view id) {
    return !id.ends_with(".unit") && !id.ends_with(".burst") && !id.ends_with(unscaled_suffix);
}

std::vector<std::string> ids_of(const Device& device,
                                std::initializer_list<std::string_view> kinds) {
    std::vector<std::string> ids;
    for (const auto& [id, rate] : device.rates) {
        const bool fits = std::ranges::any_of(
            kinds, [&](std::string_view kind) { return std::string_view(id).starts_with(kind); });
        if (fits && is_of_device(id)) {
            ids.push_back(id);
        }
    }
    return ids;
}

std::string_view without_kind(std::string_view id) {
    return id.substr(id.find('.') + 1);
}

std::string_view type_of(std::string_view id) {
    return id.substr(id.rfind('.') + 1);
}

// The name of a type that has an alias of this spelling; the word itself where none has.
std::string type_called(const std::string& word) {
    const auto type = find_dtype(word);
    return type ? std::string(name_of(*type)) : word;
}

// Among ids, these without their kind, and their types.
std::string known_word(const std::vector<std::string>& ids, const std::string& word, bool types) {
    std::vector<std::string_view> known;
    for (const std::string& id : ids) {
        known.insert(known.end(), {id, without_kind(id)});
        if (types) {
            known.push_back(type_of(id));
        }
    }
    const std::string_view same = same_among(word, known);
    if (!same.empty() || !types) {
        return same.empty() ? word : std::string(same);
    }
    // "wgmma.BFLOAT16"
    const std::size_t dot = word.rfind('.');
    const std::size_t type = dot == std::string::npos ? 0 : dot + 1;
    const std::string renamed = word.substr(0, type) + type_called(word.substr(type));
    const std::string_view found = same_among(renamed, known);
    return found.empty() ? word : std::string(found);
}

std::vector<std::string> sorted(const std::set<std::string>& words) {
    return {words.begin(), words.end()};
}

}  // namespace

WorkPoint with_known_names(const Device& device, WorkPoint point) {
    if (!point.engine.empty()) {
        point.engine = known_word(ids_of(device, {"flop.", "op."}), point.engine, true);
    }
    point.memory = same_word(point.memory, dram)
                       ? std::string(dram)
                       : known_word(ids_of(device, {"byte."}), point.memory, false);
    return point;
}

std::vector<std::string> engine_names(const Device& device) {
    std::set<std::string> names;
    for (const std::string& id : ids_of(device, {"flop.", "op."})) {
        names.emplace(without_kind(id));
        if (id.starts_with("flop.")) {
            names.emplace(type_of(id));
        }
    }
    return sorted(names);
}

std::vector<std::string> memory_names(const Device& device) {
    std::set<std::string> names{std::string(dram)};
    for (const std::string& id : ids_of(device, {"byte."})) {
        names.emplace(without_kind(id));
    }
    return sorted(names);
}

}  // namespace raceline
