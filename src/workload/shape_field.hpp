// SPDX-License-Identifier: Apache-2.0
// One field of a shape, as text: what the grammars of all operations share. The text is whatever a
// user typed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// Quotes user text in a sentence: cut, so that a megabyte of junk stays a sentence.
std::string in_quotes(std::string_view text);

/// A whole number from 0 to 2147483647, a finite number; throws Error(invalid_argument) naming the
/// field.
std::int64_t parse_count(std::string_view field, std::string_view text);
double parse_real(std::string_view field, std::string_view text);

/// The fields between commas; throws Error(invalid_argument) if one is empty.
std::vector<std::string_view> split_fields(std::string_view text);

}  // namespace raceline
