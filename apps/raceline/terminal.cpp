// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "support/check.hpp"
#include "support/one_line.hpp"

namespace raceline::cli {

void say_line(std::string_view line) {
    std::fflush(stdout);  // so that both make sense in one file
    const std::string text = one_line(line) + "\n";
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

void print_row(const Json& row) {
    const std::string line = dump_json(row) + "\n";
    const bool written =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
    require(written, Status::io, "stdout cannot be written: the row was lost");
}

Progress::Progress(int total) : total_(total), shown_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    clear();
}

void Progress::clear() const {
    if (shown_) {
        fmt::print(stderr, "\r\x1b[K");
    }
}

void Progress::step(int done, std::string_view what) {
    if (!shown_) {
        return;
    }
    constexpr int width = 24;
    const int filled = total_ > 0 ? std::min(width, done * width / total_) : 0;
    fmt::print(stderr, "\r\x1b[K[{:#<{}}{:.<{}}] {}/{} {}", "", filled, "", width - filled, done,
               total_, what.substr(0, 60));
    std::fflush(stderr);
}

}  // namespace raceline::cli
