// SPDX-License-Identifier: Apache-2.0
// The parts of a decoder layer, added up.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "run/run_case.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// Under a table of the suite layer:…: of each part the kernel that is predicted to be fastest, the
/// sum of their predicted and of their measured times, how much of the predicted one is the gaps
/// between launches, and which part takes most. Empty where `ran` is of another suite.
std::string layer_text(std::span<const std::pair<Case, CaseResult>> ran, const Device& device,
                       const TextStyle& style = {});

}  // namespace raceline
