// SPDX-License-Identifier: Apache-2.0
#include "support/file_names.hpp"

#include <algorithm>
#include <cstddef>

namespace raceline {
namespace {

// The last `parts` parts of a path; all of it where it has no more.
std::string last_parts(const std::string& path, std::size_t parts) {
    std::size_t at = path.size();
    for (; parts > 0 && at != std::string::npos && at > 0; --parts) {
        at = path.rfind('/', at - 1);
    }
    return at == std::string::npos || parts > 0 ? path : path.substr(at + 1);
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& paths) {
    std::vector<std::string> names;
    names.reserve(paths.size());
    for (const std::string& path : paths) {
        std::size_t parts = 1;
        const auto like_another = [&] {
            return std::ranges::any_of(paths, [&](const std::string& other) {
                return other != path && last_parts(other, parts) == last_parts(path, parts);
            });
        };
        while (last_parts(path, parts) != path && like_another()) {
            ++parts;
        }
        names.push_back(last_parts(path, parts));
    }
    return names;
}

}  // namespace raceline
