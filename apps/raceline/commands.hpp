// SPDX-License-Identifier: Apache-2.0
// The commands of the program and their options. Help and the completion of words in a shell are
// made of these, too.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace raceline::cli {

struct Command {
    CLI::App* app = nullptr;
    int (*run)(const Options&) = nullptr;
};

/// Adds all commands, whose options go into `options`, in the order in which help lists them. The
/// type of an option's value (CLI::Option::type_name) says what stands there: a word of
/// completion.cpp, or the words themselves with '|' between them.
std::vector<Command> add_commands(CLI::App& app, Options& options);

/// What `name` may be among the commands, with ": did you mean 'predict'?" behind it, for a
/// sentence that refuses it.
std::string no_command_sentence(std::string_view name, const std::vector<Command>& commands);

}  // namespace raceline::cli
