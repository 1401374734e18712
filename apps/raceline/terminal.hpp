// SPDX-License-Identifier: Apache-2.0
// What goes to a person: messages and progress on stderr, results on stdout.
#pragma once

#include <cstdio>
#include <fmt/core.h>
#include <string_view>
#include <utility>

#include "support/json.hpp"

namespace raceline::cli {

/// A line on stderr.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    std::fflush(stdout);  // so that both make sense in one file
    fmt::print(stderr, format, std::forward<Args>(args)...);
    std::fputc('\n', stderr);
}

/// A row on stdout, one line, for --json. Throws Error(io) if stdout is gone.
void print_row(const Json& row);

/// One line on stderr that is drawn over itself; nothing at all if stderr is no terminal.
class Progress {
public:
    explicit Progress(int total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void step(int done, std::string_view what);

private:
    void clear() const;
    int total_;
    bool shown_;
};

}  // namespace raceline::cli
