// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "completion_values.hpp"
#include "options.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline::cli {
namespace {

constexpr std::string_view asked_by_scripts = "__complete";
bool takes_a_value(const CLI::Option* option) {
    return option != nullptr && option->get_items_expected_max() > 0;
}

Offers options_of(const CLI::App& app) {
    Offers words;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            words.push_back({"--" + name, option->get_description()});
        }
    }
    return words;
}

// Offers that are no options and no values of these.
std::size_t plain_count(const UnfinishedLine& line) {
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
Offers positional_values(const UnfinishedLine& line) {
    const std::vector<const CLI::Option*> places = line.command->get_options(
        [](const CLI::Option* option) { return option->get_positional(); });
    if (places.empty()) {
        return {};
    }
    return values_of(*places[std::min(plain_count(line), places.size() - 1)], line);
}

// How many words after its name are an option's values: all that follow, unless it takes one at a
// time.
std::size_t values_after(const CLI::Option& option) {
    const int most = option.get_items_expected_max();
    const bool one =
        most >= CLI::detail::expected_max_vector_size && !option.get_allow_extra_args();
    return one ? 1 : static_cast<std::size_t>(most);
}

// The option whose value stands at the cursor; null: there is none.
const CLI::Option* option_at_cursor(const UnfinishedLine& line, const CLI::App& app) {
    const auto name = std::ranges::find_if(line.before.rbegin(), line.before.rend(),
                                           [](const std::string& w) { return w.starts_with('-'); });
    if (name == line.before.rend()) {
        return nullptr;
    }
    const auto values = static_cast<std::size_t>(name - line.before.rbegin());
    const CLI::Option* const option = app.get_option_no_throw(*name);
    return takes_a_value(option) && values < values_after(*option) ? option : nullptr;
}

Offers words_at_cursor(UnfinishedLine& line) {
    const CLI::App& app = line.command != nullptr ? *line.command : *line.app;
    if (const std::size_t equals = line.word.find('=');
        line.word.starts_with("--") && equals != std::string::npos) {
        const std::string name = line.word.substr(0, equals);
        const CLI::Option* const option = app.get_option_no_throw(name);
        line.word.erase(0, equals + 1);
        Offers words = takes_a_value(option) ? values_of(*option, line) : Offers();
        line.word.insert(0, name + "=");
        for (Offer& word : words) {
            word.text = word.text == any_file ? word.text : name + "=" + word.text;
        }
        return words;
    }
    if (const CLI::Option* const option = option_at_cursor(line, app); option != nullptr) {
        return values_of(*option, line);
    }
    if (line.word.starts_with('-')) {
        return options_of(app);
    }
    return line.command != nullptr ? positional_values(line) : commands_of(line);
}

UnfinishedLine line_of(const CLI::App& app, std::vector<std::string> words) {
    UnfinishedLine line;
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
        UnfinishedLine line = line_of(app, words_of_line(argv[2]));
        for (const Offer& word : words_at_cursor(line)) {
            // In capital letters or small ones, as the program reads them.
            const bool fits = same_word(word.text.substr(0, line.word.size()), line.word);
            if (word.text == any_file || fits) {
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
        const bool quotes = c == '\'' || c == '"';
        const bool parts = c == ' ' || c == '\t';
        if (quotes && (quote == 0 || quote == c)) {
            quote = quote == 0 ? c : '\0';
        } else if (c == '\\' && quote == 0 && i + 1 < line.size()) {
            words.back() += line[++i];
        } else if (!parts || quote != 0) {
            words.back() += c;
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    return words;
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
