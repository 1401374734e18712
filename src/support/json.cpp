// SPDX-License-Identifier: Apache-2.0
#include "support/json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "support/check.hpp"

namespace raceline {
namespace {

// The parser is iterative, but copying and dumping a value recurse once a level, and members of an
// ordered object are looked up one after the other: both are bounded before they are built.
constexpr int max_depth = 64;
constexpr std::size_t max_members = 4096;

// nlohmann's message without its tag, its position (ours is the byte) and the text last read, which
// may be long or not valid UTF-8.
std::string bare_reason(std::string message) {
    const std::string_view mark = "while parsing ";
    const std::size_t begin = message.find(mark);
    if (begin != std::string::npos) {
        message.erase(0, begin + mark.size());
    } else if (const std::size_t tag = message.find("] "); tag != std::string::npos) {
        message.erase(0, tag + 2);
    }
    return message.substr(0, message.find("; last read"));
}

// Sees each value while it is built and stops what would be too deep, too wide or ambiguous.
class Guard {
public:
    explicit Guard(std::string_view where) : where_(where) {}

    bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
        using Event = Json::parse_event_t;
        if (event == Event::object_start || event == Event::array_start) {
            require(depth < max_depth, Status::corrupt, "{}: nested deeper than {} levels", where_,
                    max_depth);
        }
        if (event == Event::object_start) {
            keys_.emplace_back();
        } else if (event == Event::object_end) {
            keys_.pop_back();
        } else if (event == Event::key) {
            const auto& key = parsed.get_ref<const std::string&>();
            require(keys_.back().insert(key).second, Status::corrupt,
                    "{}: member \"{}\" appears twice in one object", where_, key.substr(0, 80));
            require(keys_.back().size() <= max_members, Status::corrupt,
                    "{}: an object has more than {} members", where_, max_members);
        }
        return true;
    }

private:
    std::string_view where_;
    std::vector<std::set<std::string>> keys_;
};

// JSON has no spelling for NaN and infinities; nlohmann would write null, which reads as "absent".
bool all_finite(const Json& value) {
    return value.is_structured() ? std::ranges::all_of(value, all_finite)
                                 : !value.is_number_float() || std::isfinite(value.get<double>());
}

// Names the place of the first number that is not finite.
void require_finite(const Json& value, const std::string& path) {
    if (value.is_number_float()) {
        const double number = value.get<double>();
        require(std::isfinite(number), Status::internal,
                "cannot write {} as JSON at {}: only finite numbers have a spelling", number,
                path.empty() ? "/" : path);
    } else if (value.is_structured()) {
        for (const auto& [key, member] : value.items()) {
            require_finite(member, fmt::format("{}/{}", path, key));
        }
    }
}

// " in line 3", where the text has several.
std::string in_line(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, std::min(byte, text.size()));
    return text.find('\n') == std::string_view::npos
               ? std::string()
               : fmt::format(" in line {}", 1 + std::count(before.begin(), before.end(), '\n'));
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
    Guard guard(where);
    const Json::parser_callback_t see = [&guard](int depth, Json::parse_event_t event,
                                                 Json& parsed) {
        return guard(depth, event, parsed);
    };
    try {
        return Json::parse(text, see);
    } catch (const Json::parse_error& e) {
        fail(Status::corrupt, "{}: not valid JSON at byte {}{}: {}", where, e.byte,
             in_line(text, e.byte), bare_reason(e.what()));
    } catch (const Json::exception& e) {
        fail(Status::corrupt, "{}: not valid JSON: {}", where, bare_reason(e.what()));
    }
}

void require_spellings(const Json& value) {
    if (!all_finite(value)) {
        require_finite(value, "");
    }
}

std::string dump_json(const Json& value) {
    require_spellings(value);
    try {
        return value.dump();
    } catch (const Json::exception& e) {
        fail(Status::internal, "cannot write as JSON: {}", bare_reason(e.what()));
    }
}

std::string text_member(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace raceline
