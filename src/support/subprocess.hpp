// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// What a program, looked for in PATH, writes to stdout; nothing if it cannot be started or its
/// exit status is not 0. No shell reads the words. It reads `input`, never this process's standard
/// input. What it writes to stderr is lost, and it does not see the variables by which git is told
/// of another repository than that of its folder (GIT_DIR and the like, which git sets for its
/// hooks).
std::optional<std::string> output_of(const std::vector<std::string>& command,
                                     std::string_view input = {});

/// Runs a program that writes where this one does, and waits; its exit status, or -1 if it cannot
/// be started or was killed.
int exit_status_of(const std::vector<std::string>& command);

}  // namespace raceline
