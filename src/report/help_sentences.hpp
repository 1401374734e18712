// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/problem_answer.hpp"

namespace raceline {

/// What would make the answer's kernel faster, the most important first: what is waited for if no
/// rate limits it, how empty the device is, what higher rates save, and what the bound leaves.
std::vector<std::string> help_sentences(const ProblemAnswer& answer);

}  // namespace raceline
