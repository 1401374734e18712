// SPDX-License-Identifier: Apache-2.0
// Calls one command and turns what went wrong into a sentence and an exit code.
#include <csignal>
#include <exception>
#include <new>
#include <system_error>

#include "command_line.hpp"
#include "raceline/error.hpp"
#include "support/output_file.hpp"
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
        if (!line.err.empty()) {
            say("{}", line.err);
        }
        return line.exit;
    }
    if (!line.options.receipts.empty()) {
        require_folder("--receipts", line.options.receipts);
    }
    line.options.context = RowContext::of_this_process(argc, argv);
    return line.run(line.options);
}

// What was lost on stdout is said at the end, once.
template <class... Args>
void say_unless_lost(fmt::format_string<Args...> format, Args&&... args) {
    if (std::ferror(stdout) == 0) {
        say(format, std::forward<Args>(args)...);
    }
}

int run_and_explain(int argc, const char* const* argv) {
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        say_unless_lost("raceline: {}", error.what());
        return exit_code(error.status());
    } catch (const std::bad_alloc&) {
        say("raceline: out of memory: the shape needs more than this machine has");
        return exit_usage;
    } catch (const std::system_error& error) {
        say_unless_lost("raceline: {}", error.what());
        return exit_usage;
    } catch (const std::exception& error) {
        say("raceline: internal error: {}", error.what());
        return exit_failed;
    }
}

}  // namespace
}  // namespace raceline::cli

int main(int argc, char** argv) {
    using namespace raceline::cli;
    open_standard_streams();
    // A limit of a file's size is an error of writing, like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    const int code = run_and_explain(argc, argv);
    const bool arrived = stdout_complete();
    return arrived && (code != exit_ok || stderr_complete()) ? code : exit_usage;
}
