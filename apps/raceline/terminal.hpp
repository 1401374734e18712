// SPDX-License-Identifier: Apache-2.0
// What goes to a person: messages and progress on stderr, results on stdout.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "options.hpp"
#include "support/json.hpp"
#include "support/text_style.hpp"

namespace raceline::cli {

/// A line on stderr, in a terminal broken at its width; control characters and broken UTF-8 within
/// it are shown as \xNN.
void say_line(std::string_view line);
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    say_line(fmt::format(format, std::forward<Args>(args)...));
}

/// Opens standard streams that the caller closed, in a way that writing to them fails: else a
/// receipt file could become stdout. To be called before any file is opened.
void open_standard_streams();

/// Whether all that was printed has reached stdout (a full disk tells only now); says so if not.
bool stdout_complete();
/// The same of stderr, where nobody can be told.
bool stderr_complete();

/// Columns of stdout: those that COLUMNS says, else those of its terminal, else 100, which a file
/// or a pipe gets, too.
std::size_t stdout_columns();

/// How text is laid out on stdout: as wide as it is, or with --wide as wide as it takes; in colours
/// as --color says, by itself where stdout is a terminal that has them and NO_COLOR is not set.
TextStyle stdout_style(const Options& options);

/// A row on stdout, one line, for --json. Throws Error(io) if stdout is gone.
void print_row(const Json& row);

/// One line on stderr that is drawn over itself; nothing at all if stderr is no terminal.
class Progress {
public:
    explicit Progress(int total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// `left`: how much longer it takes, "" if nobody knows.
    void step(int done, std::string_view what, std::string_view left = {});
    [[nodiscard]] bool shown() const { return shown_; }

private:
    void clear() const;
    int total_;
    bool shown_;
};

}  // namespace raceline::cli
