// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace raceline {

/// Keys keep their order, so that a row reads the way it was written.
using Json = nlohmann::ordered_json;

/// Parse one document. `where` names the source in the error ("devices/h200.json", "line 7").
Json parse_json(std::string_view text, std::string_view where);

/// Refuses NaN and infinities anywhere in it, and names the place. Throws Error(internal).
void require_spellings(const Json& value);

/// One line, no spaces, shortest round-trip numbers; NaN and infinities are refused.
std::string dump_json(const Json& value);

/// A member that is a text; "" if there is none, or another value.
std::string text_member(const Json& object, const char* key);

}  // namespace raceline
