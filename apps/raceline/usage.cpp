// SPDX-License-Identifier: Apache-2.0
#include "usage.hpp"

#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <limits>
#include <vector>

#include "support/nearest.hpp"

namespace raceline::cli {
namespace {

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
}

std::string values(std::size_t count) {
    return count == 1 ? "one value" : fmt::format("{} values", count);
}

// Too few or too many values, by the option's own count.
std::string count_sentence(const CLI::App& command, const CLI::ParseError& error) {
    std::string text = error.what();
    const std::string name = text.substr(0, text.find(':'));
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr) {
        return text;
    }
    return fmt::format("{} takes {}, and {}", name,
                       values(static_cast<std::size_t>(option->get_items_expected_min())),
                       given_text(option->results().size()));
}

// A word that is no option of the command, or one too many.
std::string extra_sentence(const CLI::App& command, const CLI::ParseError& error) {
    std::vector<std::string> rest = command.remaining();
    if (rest.empty() && command.get_parent() != nullptr) {
        rest = command.get_parent()->remaining();  // behind "--", which ends a command's own words
    }
    std::erase(rest, "--");
    if (rest.empty()) {
        return error.what();
    }
    if (!rest.front().starts_with('-')) {
        const bool of_shape = rest.front().find('=') != std::string::npos;
        return fmt::format(
            "{} takes no word '{}'{}", command.get_name(), rest.front(),
            of_shape ? "; a shape's fields stand side by side, with commas between" : "");
    }
    if (rest.front().starts_with("-=")) {  // what CLI11 leaves of "-v=1"
        for (const CLI::Option* option : command.get_options()) {
            if (!option->get_snames().empty() && option->get_items_expected_max() == 0 &&
                option->count() > 0) {
                return fmt::format("{} takes no value, and '{}' was given",
                                   "-" + option->get_snames().front(), rest.front().substr(2));
            }
        }
    }
    const std::string word = rest.front().substr(0, rest.front().find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        names.push_back(option->get_name());
    }
    return fmt::format(
        "{} has no option '{}'{}", command.get_name(), word,
        did_you_mean(word, std::vector<std::string_view>(names.begin(), names.end())));
}

std::string bare_sentence(const CLI::App& command, const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        return count_sentence(command, error);
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        return extra_sentence(command, error);
    }
    return error.what();
}

}  // namespace

std::string given_text(std::size_t count) {
    return count == 0   ? "none was given"
           : count == 1 ? "one was given"
                        : fmt::format("{} were given", count);
}

std::optional<std::uint64_t> parse_whole(std::string_view text) {
    return whole_text<std::uint64_t>(text);
}

void add_whole(CLI::App& command, const std::string& name, const std::string& help,
               std::uint64_t least, std::uint64_t most,
               const std::function<void(std::uint64_t)>& take) {
    command
        .add_option_function<std::string>(
            name,
            [=](const std::string& text) {
                const auto number = parse_whole(text);
                if (!number || *number < least || *number > most) {
                    throw CLI::ValidationError(fmt::format(
                        "{} '{}' is not a whole number from {} to {}, in decimal digits", name,
                        text.substr(0, 40), least, most));
                }
                take(*number);
            },
            help)
        ->type_name("NUMBER");
}

void add_seconds(CLI::App& command, const std::string& name, const std::string& help, double least,
                 double most, double& seconds) {
    command
        .add_option_function<std::string>(
            name,
            [=, &seconds](const std::string& text) {
                const auto number = whole_text<double>(text);
                if (!number || !(*number >= least && *number <= most)) {
                    throw CLI::ValidationError(
                        fmt::format("{} '{}' is not a number of seconds from {} to {}", name,
                                    text.substr(0, 40), least, most));
                }
                seconds = *number;
            },
            help)
        ->type_name("SECONDS");
}

void add_word(CLI::App& command, const std::string& name, const std::vector<std::string>& words,
              const std::string& help, std::string& word) {
    command
        .add_option_function<std::string>(
            name,
            [=, &word](const std::string& text) {
                const std::vector<std::string_view> known(words.begin(), words.end());
                word = same_among(text, known);
                if (word.empty()) {
                    throw CLI::ValidationError(
                        fmt::format("{} '{}' does not exist{}", name, text.substr(0, 40),
                                    one_of_these(text.substr(0, 40), known)));
                }
            },
            help)
        ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

void refuse_empty_values(CLI::App& command) {
    for (CLI::Option* option : command.get_options()) {
        if (option->get_items_expected_max() > 0) {
            option->check([](const std::string& text) {
                return text.empty()
                           ? std::string("the value is empty; leave the option out for its default")
                           : std::string();
            });
        }
    }
}

std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error) {
    const std::vector<const CLI::App*> commands =
        app.get_subcommands([](const CLI::App* command) { return command->parsed(); });
    const CLI::App& command = commands.empty() ? app : *commands.front();
    const std::string sentence = bare_sentence(command, error);
    return fmt::format("raceline: {}{} `raceline {}--help` lists what there is", sentence,
                       sentence.ends_with('?') ? "" : ";",
                       commands.empty() ? "" : command.get_name() + " ");
}

}  // namespace raceline::cli
