// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <sstream>

#include "commands.hpp"
#include "completion.hpp"
#include "help.hpp"
#include "support/build_info.hpp"
#include "support/nearest.hpp"
#include "terminal.hpp"
#include "usage.hpp"

namespace raceline::cli {
namespace {

// An option where a command should be, but for the three that need none: "" if there is none.
std::string early_option(int argc, const char* const* argv, const CLI::App& app,
                         const std::vector<Command>& commands) {
    const std::string word = argc > 1 ? std::string(argv[1]) : std::string();
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with('-') || name == "-" || app.get_option_no_throw(name) != nullptr) {
        return "";
    }
    const auto its = std::ranges::find_if(commands, [&](const Command& command) {
        return command.app->get_option_no_throw(name) != nullptr;
    });
    if (its == commands.end()) {
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& its_name : option->get_lnames()) {
                names.push_back("--" + its_name);
            }
        }
        return fmt::format(
            "raceline: no option '{}'{}", name,
            did_you_mean(name, std::vector<std::string_view>(names.begin(), names.end()),
                         "`raceline --help` lists the commands, and `raceline help COMMAND` the "
                         "options of each"));
    }
    return fmt::format("raceline: '{}' belongs behind a command, as in `raceline {} {}`", name,
                       its->app->get_name(), name);
}

// CLI11 says the same whether there was no command or a wrong one.
std::string missing_command(int argc, const char* const* argv,
                            const std::vector<Command>& commands) {
    const std::string word = argc > 1 ? argv[1] : "";
    if (!word.empty()) {
        return "raceline: " + no_command_sentence(word, commands);
    }
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const Command& command : commands) {
        names.push_back(command.app->get_name());
    }
    return fmt::format("raceline: no command; there are {} (`raceline --help`)",
                       fmt::join(names, ", "));
}

// `raceline help COMMAND` is `raceline COMMAND --help`.
void answer_help(const CLI::App& app, const std::vector<Command>& commands, CommandLine& line) {
    const std::string& topic = line.options.topic;
    if (topic.empty()) {
        // app.help() would be that of the command that was parsed, which is this one.
        line.out = app.get_formatter()->make_help(&app, "", CLI::AppFormatMode::Normal);
        return;
    }
    const auto found = std::ranges::find_if(
        commands, [&](const Command& command) { return command.app->check_name(topic); });
    if (found == commands.end()) {
        line.exit = exit_usage;
        line.err = "raceline: " + no_command_sentence(topic, commands);
    } else {
        line.out = found->app->help();
    }
}

// A build with one SIMD target says so; any other is told by its version alone.
std::string version_line() {
    const std::string build(build_info::build_type());
    return "raceline " + std::string(build_info::version()) +
           (build.find(',') == std::string::npos ? "" : " (" + build + ")");
}

void set_up(CLI::App& app) {
    app.set_version_flag("--version", version_line());
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 fine, 1 a check failed, 2 wrong usage or input, 3 no such device; 130 or "
        "143 where Ctrl-C or a termination signal ended bench, check or measure.\n"
        "Examples:\n  raceline devices\n  raceline bench --suite quickstart\n"
        "  raceline help predict");
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
    CommandLine line;
    CLI::App app(
        "raceline: attention kernels that know their own speed limit, and the instrument "
        "that proves it");
    set_up(app);
    const std::vector<Command> commands = add_commands(app, line.options);
    if (asks_for_completion(argc, argv)) {
        line.out = completions_text(app, argc, argv);
        return line;
    }
    if (line.err = early_option(argc, argv, app, commands); !line.err.empty()) {
        line.exit = exit_usage;
        return line;
    }
    lay_out_help(app, stdout_style(line.options));
    try {
        app.parse(argc, argv);
    } catch (const CLI::RequiredError&) {
        line.exit = exit_usage;
        line.err = missing_command(argc, argv, commands);
        return line;
    } catch (const CLI::ParseError& error) {
        std::ostringstream help;
        line.exit = app.exit(error, help, help) == 0 ? exit_ok : exit_usage;
        (line.exit == exit_ok ? line.out : line.err) =
            line.exit == exit_ok ? help.str() : usage_sentence(app, error);
        return line;
    }
    for (const Command& command : commands) {
        if (command.app->parsed()) {
            line.run = command.run;
        }
    }
    if (line.run == nullptr) {
        answer_help(app, commands, line);
    }
    return line;
}

}  // namespace raceline::cli
