// SPDX-License-Identifier: Apache-2.0
// A scorecard for eyes, for pages and for tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/scorecard.hpp"
#include "support/text_style.hpp"

namespace raceline {

enum class TableForm : std::int32_t { terminal, markdown };

/// "Worst at first sight: simt on h200, ...": the kernel with the largest median error over all of
/// its rows at first sight, of the engines that the API calls and of the ladder's rungs.
std::string worst_at_first_sight(const Scorecard& card);

/// A sentence where machines may be counted together: of a CPU the scorecard knows the name alone.
/// Else "".
std::string machines_together(const Scorecard& card);

/// The first of these sentences, then first sight by kernel, every group, the baselines, and what
/// is left out. The style is that of a terminal.
std::string scorecard_text(const Scorecard& card, TableForm form, const TextStyle& style = {});

/// One part of it, for a page: `first`, `regimes` or `baselines`; of one kernel, or of all ("").
/// Throws Error(invalid_argument) naming the parts if there is no such one.
std::string scorecard_part(const Scorecard& card, std::string_view part, std::string_view kernel);

/// The same numbers as one object; errors are fractions.
Json scorecard_json(const Scorecard& card);

}  // namespace raceline
