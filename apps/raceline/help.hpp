// SPDX-License-Identifier: Apache-2.0
// What --help prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "support/text_style.hpp"

namespace raceline::cli {

/// Makes help of the app and of its commands fit the style's columns; headings have its colours.
void lay_out_help(CLI::App& app, const TextStyle& style);

/// The fields of the shape grammar, those of other operations, and the suites in groups.
std::string shapes_and_suites_help();

/// fp32, fp16, ...: those that Q and --dtype may have, and those of a cache.
std::vector<std::string> names_of_dtypes();
std::vector<std::string> names_of_cache_dtypes();

}  // namespace raceline::cli
