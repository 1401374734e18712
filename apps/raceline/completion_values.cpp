// SPDX-License-Identifier: Apache-2.0
#include "completion_values.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "completion.hpp"
#include "completion_shapes.hpp"
#include "device/catalog.hpp"
#include "help.hpp"
#include "options.hpp"
#include "plot/charts.hpp"
#include "registry/registry.hpp"
#include "report/ladder_tracks.hpp"
#include "run/point_names.hpp"
#include "selection.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/operation_suites.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline::cli {
Offers commands_of(const UnfinishedLine& line) {
    Offers words;
    for (const CLI::App* command : line.app->get_subcommands({})) {
        words.push_back({command->get_name(), command->get_description()});
    }
    return words;
}

namespace {

Offers plain_words(const std::vector<std::string>& texts) {
    Offers words;
    for (const std::string& text : texts) {
        words.push_back({text, ""});
    }
    return words;
}

// What runs needs a device that is there; to ask about one it need not be.
Offers devices_of(const UnfinishedLine& line) {
    const std::string command = line.command == nullptr ? "" : line.command->get_name();
    const bool measures = command == "measure";
    const bool runs = command == "bench" || command == "check" || measures;
    const auto cuda = live_cuda();
    Offers words;
    if (cuda || !runs) {
        words.push_back({"cuda", "the GPU of this machine"});
    }
    for (const std::string& id : device_ids()) {
        if (!runs || id == "cpu" || (cuda && cuda->id == id)) {
            words.push_back({id, datasheet_device(id).name});
        }
    }
    if (runs && !measures) {
        words.push_back({"replay:", "and a receipt file"});
    }
    return words;
}

Offers kernels_of(const UnfinishedLine& /*line*/) {
    Offers words;
    for (const Kernel& kernel : all_kernels()) {
        words.push_back({std::string(kernel.name), std::string(kernel.summary)});
    }
    return words;
}

// Of two rungs the second is another one than the first.
Offers rungs_of(const UnfinishedLine& line) {
    Offers words;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.rung != nullptr &&
            (line.before.empty() || !same_word(line.before.back(), kernel.name))) {
            words.push_back({std::string(kernel.name), std::string(kernel.rung->changes)});
        }
    }
    return words;
}

Offers tiles_of(const UnfinishedLine& line) {
    Offers words{{"best", "the model's choice"}, {"all", ""}};
    if (const std::string name = line.value_of("--kernel"); !name.empty()) {
        const Kernel& kernel = find_kernel(name);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            words.push_back({kernel.tile_text(tile), ""});
        }
    }
    return words;
}

Offers suites_of(const UnfinishedLine& /*line*/) {
    Offers words = plain_words(suite_names());
    words.push_back({"random:", "and a seed"});
    words.push_back({"serving:", "and a seed"});
    words.push_back({"operations:", "and a seed"});
    words.push_back({"operations-any:", "and a seed"});
    for (const std::string_view model : layer_models()) {
        words.push_back({fmt::format("layer:{}:prefill=", model), "and a number of tokens"});
        words.push_back({fmt::format("layer:{}:decode=", model), "and sequences x keys"});
    }
    return words;
}

Device device_of(const UnfinishedLine& line) {
    Options options;
    options.device = line.value_of("--device");
    return select_device(options);
}

Offers tracks_of(const UnfinishedLine& /*line*/) {
    Offers words;
    for (const LadderTrack& track : ladder_tracks()) {
        words.push_back({std::string(track.name), ""});
    }
    return words;
}

Offers fields_of_sweeps(const UnfinishedLine& /*line*/) {
    Offers words;
    for (const std::string_view field : sweep_fields()) {
        words.push_back({std::string(field), ""});
    }
    return words;
}

Offers nothing(const UnfinishedLine& /*line*/) {
    return {};
}

// The types of values that options have, and what may stand there.
struct TypeOfValue {
    std::string_view name;
    Offers (*words)(const UnfinishedLine&);
};
constexpr std::array types{
    TypeOfValue{"DEVICE", devices_of},
    TypeOfValue{"KERNEL", kernels_of},
    TypeOfValue{"RUNG", rungs_of},
    TypeOfValue{"TILE", tiles_of},
    TypeOfValue{"SUITE", suites_of},
    TypeOfValue{"SHAPE", shapes_of},
    TypeOfValue{"OPERATION", operations_of},
    TypeOfValue{"CHAIN", operations_of},
    TypeOfValue{"DTYPE", [](const UnfinishedLine&) { return plain_words(names_of_dtypes()); }},
    TypeOfValue{
        "ENGINE",
        [](const UnfinishedLine& line) { return plain_words(engine_names(device_of(line))); }},
    TypeOfValue{
        "MEMORY",
        [](const UnfinishedLine& line) { return plain_words(memory_names(device_of(line))); }},
    TypeOfValue{"PICTURE", [](const UnfinishedLine&) { return plain_words(picture_names()); }},
    TypeOfValue{"TRACK", tracks_of},
    TypeOfValue{"FIELD", fields_of_sweeps},
    TypeOfValue{"COMMAND", commands_of},
    TypeOfValue{"SHELL", [](const UnfinishedLine&) { return plain_words(shells()); }},
    TypeOfValue{"FILE", [](const UnfinishedLine&) { return Offers{{std::string(any_file), ""}}; }},
    TypeOfValue{"NUMBER", nothing},
    TypeOfValue{"RANGE", ranges_of},
    TypeOfValue{"SECONDS", nothing},
    TypeOfValue{"NAME", nothing},
    TypeOfValue{"COMMIT", nothing},
};

}  // namespace

Offers values_of(const CLI::Option& option, const UnfinishedLine& line) {
    const std::string type = option.get_type_name();
    if (type.find('|') != std::string::npos) {
        std::vector<std::string> texts;
        for (std::size_t from = 0; from <= type.size();) {
            const std::size_t to = std::min(type.find('|', from), type.size());
            texts.push_back(type.substr(from, to - from));
            from = to + 1;
        }
        return plain_words(texts);
    }
    const auto* const found = std::ranges::find(types, std::string_view(type), &TypeOfValue::name);
    return found == types.end() ? Offers() : found->words(line);
}

std::vector<std::string> known_types() {
    std::vector<std::string> names;
    names.reserve(types.size());
    for (const TypeOfValue& type : types) {
        names.emplace_back(type.name);
    }
    return names;
}

}  // namespace raceline::cli
