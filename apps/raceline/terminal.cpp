// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <algorithm>
#include <string>
#include <unistd.h>

#include "support/check.hpp"

namespace raceline::cli {

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
