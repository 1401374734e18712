// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and termination while cases run: the one in hand is finished, and none begins after it.
#pragma once

#include <cstddef>
#include <string>

namespace raceline::cli {

/// While it lives, and there is no Interruption, the first SIGINT or SIGTERM ends the program with
/// `kept` on stderr: what became of its work.
class StopBeforeCases {
public:
    explicit StopBeforeCases(const std::string& kept);
    ~StopBeforeCases();
    StopBeforeCases(const StopBeforeCases&) = delete;
    StopBeforeCases& operator=(const StopBeforeCases&) = delete;
};

/// While it lives, the first SIGINT or SIGTERM is only noted, and the second ends the program, with
/// `at_once` on stderr. Rows of receipts are whole then, too: each is one write.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    /// What a second signal says, from now on, and which file goes then; "" none.
    void say_at_once(const std::string& sentence, const std::string& removed = "");

    /// The signal that came; 0: none.
    [[nodiscard]] int signal() const;
    /// "Ctrl-C" or "a termination signal"
    [[nodiscard]] std::string name() const;
    /// As shells have it: 130 or 143; 0 if no signal came.
    [[nodiscard]] int exit_code() const;
};

}  // namespace raceline::cli
