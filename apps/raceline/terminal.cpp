// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/check.hpp"
#include "support/one_line.hpp"
#include "usage.hpp"

namespace raceline::cli {
namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

// Of a stream: what COLUMNS says, else its terminal.
std::size_t columns_of(int stream) {
    constexpr std::size_t of_a_file = 100;
    constexpr std::size_t most = 10'000;
    if (const auto said = parse_whole(variable("COLUMNS")); said && *said > 0 && *said <= most) {
        return *said;
    }
    winsize size{};
    const bool known = ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : of_a_file;
}

bool terminal_has_colours() {
    return isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace

void say_line(std::string_view line) {
    std::fflush(stdout);  // so that both make sense in one file
    // A file or a pipe gets one line, in which a program finds what it looks for.
    const std::size_t columns = isatty(STDERR_FILENO) == 1 ? columns_of(STDERR_FILENO) : 0;
    const std::string text = paragraph(one_line(line), {.columns = columns});
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void open_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) == -1) {
            // The lowest number that is free: this one. The wrong way round, so that use fails.
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // NOLINT(*-vararg)
        }
    }
}

bool stdout_complete() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
        return true;
    }
    say("raceline: stdout cannot be written, and output was lost: give it a file on a disk with "
        "space left, or an open pipe");
    return false;
}

bool stderr_complete() {
    return std::ferror(stderr) == 0;
}

std::size_t stdout_columns() {
    return columns_of(STDOUT_FILENO);
}

TextStyle stdout_style(const Options& options) {
    return {
        .columns = options.wide ? 0 : stdout_columns(),
        .colour = options.color == "always" || (options.color == "auto" && terminal_has_colours())};
}

void print_row(const Json& row) {
    const std::string line = dump_json(row) + "\n";
    const bool written =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
    require(written, Status::io, "stdout cannot be written: the row was lost");
}

namespace {
// Such a terminal cannot clear a line.
bool is_dumb() {
    const char* const term = std::getenv("TERM");
    return term != nullptr && std::string_view(term) == "dumb";
}
}  // namespace

Progress::Progress(int total) : total_(total), shown_(isatty(STDERR_FILENO) == 1 && !is_dumb()) {}

Progress::~Progress() {
    clear();
}

void Progress::clear() const {
    if (shown_) {
        fmt::print(stderr, "\r\x1b[K");
    }
}

void Progress::step(int done, std::string_view what, std::string_view left) {
    if (!shown_) {
        return;
    }
    constexpr int width = 24;
    const int filled = total_ > 0 ? std::min(width, done * width / total_) : 0;
    const std::string line =
        fmt::format("[{:#<{}}{:.<{}}] {}/{} {}{}{}", "", filled, "", width - filled, done, total_,
                    left, left.empty() ? "" : ", ", what);
    // One that went over the edge could not be drawn over.
    fmt::print(stderr, "\r\x1b[K{}", broken_lines(line, columns_of(STDERR_FILENO) - 1).front());
    std::fflush(stderr);
}

}  // namespace raceline::cli
