// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <string_view>

#include "device/catalog.hpp"
#include "help.hpp"
#include "options.hpp"
#include "plot/charts.hpp"
#include "registry/registry.hpp"
#include "report/ladder_tracks.hpp"
#include "run/point_names.hpp"
#include "selection.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline::cli {
namespace {

constexpr std::string_view asked_by_scripts = "__complete";
constexpr std::string_view files = ":files";

// What may stand somewhere, and what it means.
struct Word {
    std::string text, meaning;
};
using Words = std::vector<Word>;

// The line that is being written: the words behind the program's name, without the last one, which
// is not finished.
struct Line {
    const CLI::App* app = nullptr;
    const CLI::App* command = nullptr;  ///< null: none was named
    std::vector<std::string> before;
    std::string word;

    /// The value that an option was given, or "".
    [[nodiscard]] std::string value_of(std::string_view option) const {
        const auto found = std::ranges::find(before, option);
        return found == before.end() || found + 1 == before.end() ? "" : *(found + 1);
    }
};

Words plain_words(const std::vector<std::string>& texts) {
    Words words;
    for (const std::string& text : texts) {
        words.push_back({text, ""});
    }
    return words;
}

Words devices_of(const Line& /*line*/) {
    Words words{{"cuda", "the GPU of this machine"}};
    for (const std::string& id : device_ids()) {
        words.push_back({id, datasheet_device(id).name});
    }
    return words;
}

Words kernels_of(const Line& /*line*/) {
    Words words;
    for (const Kernel& kernel : all_kernels()) {
        words.push_back({std::string(kernel.name), std::string(kernel.summary)});
    }
    return words;
}

Words rungs_of(const Line& /*line*/) {
    Words words;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.rung != nullptr) {
            words.push_back({std::string(kernel.name), std::string(kernel.rung->changes)});
        }
    }
    return words;
}

Words tiles_of(const Line& line) {
    Words words{{"best", "the model's choice"}, {"all", ""}};
    if (const std::string name = line.value_of("--kernel"); !name.empty()) {
        const Kernel& kernel = find_kernel(name);
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            words.push_back({kernel.tile_text(tile), ""});
        }
    }
    return words;
}

Words suites_of(const Line& /*line*/) {
    Words words = plain_words(suite_names());
    words.push_back({"random:", "and a seed"});
    words.push_back({"serving:", "and a seed"});
    return words;
}

// A shape goes on behind its last comma: with a field, or with the value of a type.
Words shapes_of(const Line& line) {
    const std::size_t comma = line.word.rfind(',');
    const std::size_t begin = comma == std::string::npos ? 0 : comma + 1;
    const std::string before = line.word.substr(0, begin);
    const std::string field = line.word.substr(begin, line.word.find('=', begin) - begin);
    Words words;
    if (begin + field.size() < line.word.size()) {
        for (const std::string& type : names_of_dtypes()) {
            if (field == "dtype" || field == "kv") {
                words.push_back({fmt::format("{}{}={}", before, field, type), ""});
            }
        }
        return words;
    }
    for (const ShapeField& one : shape_fields()) {
        const std::string_view name = one.written.substr(0, one.written.find('=') + 1);
        words.push_back(
            {before + std::string(name.empty() ? one.written : name), std::string(one.meaning)});
    }
    return words;
}

Device device_of(const Line& line) {
    Options options;
    options.device = line.value_of("--device");
    return select_device(options);
}

Words commands_of(const Line& line) {
    Words words;
    for (const CLI::App* command : line.app->get_subcommands({})) {
        words.push_back({command->get_name(), command->get_description()});
    }
    return words;
}

Words tracks_of(const Line& /*line*/) {
    Words words;
    for (const LadderTrack& track : ladder_tracks()) {
        words.push_back({std::string(track.name), ""});
    }
    return words;
}

Words fields_of_sweeps(const Line& /*line*/) {
    Words words;
    for (const std::string_view field : sweep_fields()) {
        words.push_back({std::string(field), ""});
    }
    return words;
}

Words nothing(const Line& /*line*/) {
    return {};
}

// The types of values that options have, and what may stand there.
struct TypeOfValue {
    std::string_view name;
    Words (*words)(const Line&);
};
constexpr std::array types{
    TypeOfValue{"DEVICE", devices_of},
    TypeOfValue{"KERNEL", kernels_of},
    TypeOfValue{"RUNG", rungs_of},
    TypeOfValue{"TILE", tiles_of},
    TypeOfValue{"SUITE", suites_of},
    TypeOfValue{"SHAPE", shapes_of},
    TypeOfValue{"DTYPE", [](const Line&) { return plain_words(names_of_dtypes()); }},
    TypeOfValue{"ENGINE",
                [](const Line& line) { return plain_words(engine_names(device_of(line))); }},
    TypeOfValue{"MEMORY",
                [](const Line& line) { return plain_words(memory_names(device_of(line))); }},
    TypeOfValue{"PICTURE", [](const Line&) { return plain_words(picture_names()); }},
    TypeOfValue{"TRACK", tracks_of},
    TypeOfValue{"FIELD", fields_of_sweeps},
    TypeOfValue{"COMMAND", commands_of},
    TypeOfValue{"SHELL", [](const Line&) { return plain_words(shells()); }},
    TypeOfValue{"FILE", [](const Line&) { return Words{{std::string(files), ""}}; }},
    TypeOfValue{"NUMBER", nothing},
    TypeOfValue{"SECONDS", nothing},
    TypeOfValue{"NAME", nothing},
    TypeOfValue{"COMMIT", nothing},
};

Words values_of(const CLI::Option& option, const Line& line) {
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
    return found == types.end() ? Words() : found->words(line);
}

bool takes_a_value(const CLI::Option* option) {
    return option != nullptr && option->get_items_expected_max() > 0;
}

Words options_of(const CLI::App& app) {
    Words words;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            words.push_back({"--" + name, option->get_description()});
        }
    }
    return words;
}

// Words that are no options and no values of these.
std::size_t plain_count(const Line& line) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < line.before.size(); ++i) {
        const std::string& word = line.before[i];
        if (!word.starts_with('-')) {
            ++count;
        } else if (word.find('=') == std::string::npos &&
                   takes_a_value(line.command->get_option_no_throw(word))) {
            ++i;
        }
    }
    return count;
}

// The positional at the cursor; the last one takes all that follow.
Words positional_values(const Line& line) {
    const std::vector<const CLI::Option*> places = line.command->get_options(
        [](const CLI::Option* option) { return option->get_positional(); });
    if (places.empty()) {
        return {};
    }
    return values_of(*places[std::min(plain_count(line), places.size() - 1)], line);
}

Words words_at_cursor(Line& line) {
    const CLI::App& app = line.command != nullptr ? *line.command : *line.app;
    if (const std::size_t equals = line.word.find('=');
        line.word.starts_with("--") && equals != std::string::npos) {
        const std::string name = line.word.substr(0, equals);
        const CLI::Option* const option = app.get_option_no_throw(name);
        line.word.erase(0, equals + 1);
        Words words = takes_a_value(option) ? values_of(*option, line) : Words();
        line.word.insert(0, name + "=");
        for (Word& word : words) {
            word.text = word.text == files ? word.text : name + "=" + word.text;
        }
        return words;
    }
    const CLI::Option* const last =
        line.before.empty() ? nullptr : app.get_option_no_throw(line.before.back());
    if (takes_a_value(last) && line.before.back().starts_with('-')) {
        return values_of(*last, line);
    }
    if (line.word.starts_with('-')) {
        return options_of(app);
    }
    return line.command != nullptr ? positional_values(line) : commands_of(line);
}

Line line_of(const CLI::App& app, std::vector<std::string> words) {
    Line line;
    line.app = &app;
    if (words.size() < 2) {  // the program's name alone
        return line;
    }
    line.word = std::move(words.back());
    words.pop_back();
    words.erase(words.begin());
    const auto named =
        std::ranges::find_if(words, [](const std::string& word) { return !word.starts_with('-'); });
    if (named != words.end()) {
        for (const CLI::App* command : app.get_subcommands({})) {
            if (command->check_name(*named)) {
                line.command = command;
            }
        }
        words.erase(words.begin(), named + 1);
    }
    line.before = std::move(words);
    return line;
}

std::string_view script_of(std::string_view shell) {
    for (const build_info::EmbeddedFile& file : build_info::completion_scripts()) {
        const std::string_view name = file.path.substr(file.path.rfind('/') + 1);
        if (shell == "zsh" ? name == "_raceline" : name.ends_with(shell)) {
            return file.content;
        }
    }
    fail(Status::internal, "this build has no completion script for {}", shell);
}

}  // namespace

bool asks_for_completion(int argc, const char* const* argv) {
    return argc == 3 && argv[1] == asked_by_scripts;
}

std::string completions_text(const CLI::App& app, int /*argc*/, const char* const* argv) {
    std::string text;
    try {
        Line line = line_of(app, words_of_line(argv[2]));
        for (const Word& word : words_at_cursor(line)) {
            // In capital letters or small ones, as the program reads them.
            const bool fits = same_word(word.text.substr(0, line.word.size()), line.word);
            if (word.text == files || fits) {
                text += word.meaning.empty() ? word.text : word.text + "\t" + word.meaning;
                text += '\n';
            }
        }
    } catch (const std::exception&) {
        return "";  // of a line that is wrong nothing can be said
    }
    return text;
}

std::vector<std::string> words_of_line(const std::string& line) {
    std::vector<std::string> words{""};
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quote != 0 && c == quote) {
            quote = 0;
        } else if (quote != 0) {
            words.back() += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '\\' && i + 1 < line.size()) {
            words.back() += line[++i];
        } else if (c == ' ' || c == '\t') {
            if (!words.back().empty()) {
                words.emplace_back();
            }
        } else {
            words.back() += c;
        }
    }
    return words;
}

std::vector<std::string> known_types() {
    std::vector<std::string> names;
    for (const TypeOfValue& type : types) {
        names.emplace_back(type.name);
    }
    return names;
}

std::vector<std::string> shells() {
    return {"bash", "zsh", "fish"};
}

int run_completion(const Options& options) {
    const std::vector<std::string> known = shells();
    const std::vector<std::string_view> views(known.begin(), known.end());
    require(!options.shell.empty(), Status::invalid_argument,
            "completion needs a shell: bash, zsh or fish");
    const std::string_view shell = same_among(options.shell, views);
    require(!shell.empty(), Status::invalid_argument, "there is no completion for '{}'{}",
            options.shell, one_of_these(options.shell, views));
    fmt::print("{}", script_of(shell));
    return exit_ok;
}

}  // namespace raceline::cli
