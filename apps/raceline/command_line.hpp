// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "options.hpp"

namespace raceline::cli {

/// What a command line asks for: a command to run, or a text to print and an exit code.
struct CommandLine {
    Options options;
    int (*run)(const Options&) = nullptr;  ///< null: print out and err, exit with `exit`
    int exit = exit_ok;
    std::string out, err;
};

/// Parses, runs nothing, prints nothing.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace raceline::cli
