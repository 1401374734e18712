// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// The bytes in the gzip format, as letters that a script element of a page can hold: what
/// page/data.js reads, and DecompressionStream after it. Each two letters are thirteen bits, by
/// their places among the 91 printable ones that are no space, `&`, `<` or backslash; a last single
/// one is six. That is a thirteenth less than base64 takes. The same bytes always give the same
/// text.
std::string compressed(std::string_view bytes);

/// What base64 stands for; letters that are none of its are left out.
std::string from_base64(std::string_view text);

}  // namespace raceline
