// SPDX-License-Identifier: Apache-2.0
// Answers of `raceline predict` for a reader.
#pragma once

#include <span>
#include <string>

#include "device/device.hpp"
#include "report/problem_answer.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// One problem: the kernel and its expected time, why it takes that (the terms of the schedule as
/// bars), what would help, and the bound of the problem.
std::string answer_text(const ProblemAnswer& answer, const Device& device, const TextStyle& style);

/// Several: a row each, then a line for each reason why some have no kernel.
std::string answers_table(std::span<const ProblemAnswer> answers, const TextStyle& style);

/// "exponentials" for op.ex2: a term of a prediction in a few words; empty for one it does not
/// know.
std::string term_meaning(std::string_view term);

}  // namespace raceline
