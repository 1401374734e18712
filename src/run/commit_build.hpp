// SPDX-License-Identifier: Apache-2.0
// The program as a commit has it, built in a folder of the user's cache.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "receipt/rows.hpp"

namespace raceline {

/// 40 hex digits of the commit that `name` (a hash, branch or tag) is in the repository of
/// `folder`. Throws Error(invalid_argument) if there is none, or no git.
std::string commit_named(const std::string& folder, const std::string& name);

/// $XDG_CACHE_HOME/raceline/commits/<commit>/build/raceline, cloned and built if it is not there:
/// without tests and without device code, which no prediction needs. `said` is told what takes
/// minutes. Throws Error(io) with the command that failed.
std::string program_of_commit(const std::string& folder, const std::string& commit,
                              const std::function<void(const std::string&)>& said);

/// What such a program predicts now of the row's case, by its own `predict --json`, and without
/// calibrated constants if the row is. Older programs know fewer words: throws Error(unsupported)
/// with the command if it refuses.
Prediction predicted_by(const std::string& program, const PredictionRow& row);

}  // namespace raceline
