// SPDX-License-Identifier: Apache-2.0
// Calls one command and turns what went wrong into a sentence and an exit code.
#include <exception>
#include <new>

#include "command_line.hpp"
#include "raceline/error.hpp"
#include "terminal.hpp"

namespace raceline::cli {
namespace {

int exit_code(Status status) {
    switch (status) {
        case Status::ok: return exit_ok;
        case Status::no_device: return exit_no_device;
        case Status::internal: return exit_failed;
        default: return exit_usage;
    }
}

int run(int argc, const char* const* argv) {
    CommandLine line = parse_command_line(argc, argv);
    if (line.run == nullptr) {
        fmt::print(stdout, "{}", line.out);
        fmt::print(stderr, "{}", line.err);
        return line.exit;
    }
    line.options.context = RowContext::of_this_process(argc, argv);
    return line.run(line.options);
}

}  // namespace
}  // namespace raceline::cli

int main(int argc, char** argv) {
    using raceline::cli::say;
    try {
        return raceline::cli::run(argc, argv);
    } catch (const raceline::Error& error) {
        say("raceline: {}", error.what());
        return raceline::cli::exit_code(error.status());
    } catch (const std::bad_alloc&) {
        say("raceline: out of memory: the shape needs more than this machine has");
        return raceline::cli::exit_usage;
    } catch (const std::exception& error) {
        say("raceline: internal error: {}", error.what());
        return raceline::cli::exit_failed;
    }
}
