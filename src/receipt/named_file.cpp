// SPDX-License-Identifier: Apache-2.0
#include "receipt/named_file.hpp"

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "receipt/stored_text.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t head_bytes = 1 << 20;

bool has_row(std::string_view text) {
    constexpr std::string_view begin_of_row = "{\"";
    for (std::size_t at = text.find(begin_of_row); at != std::string_view::npos;
         at = text.find(begin_of_row, at + 1)) {
        if (at == 0 || text[at - 1] == '\n') {
            return true;
        }
    }
    return false;
}

}  // namespace

void require_receipts(const std::string& path) {
    std::error_code ignored;
    const fs::file_type type = fs::status(path, ignored).type();
    require(type != fs::file_type::character && type != fs::file_type::block,
            Status::invalid_argument,
            "{} is no receipt file but a device; name a .jsonl file that raceline wrote", path);
    require(type != fs::file_type::directory, Status::invalid_argument,
            "{} is a folder; name the receipt files in it, as in {}", path,
            (fs::path(path) / "*.jsonl*").string());
    if (type == fs::file_type::regular) {
        const std::string head = stored_head(path, head_bytes);
        require(
            head.empty() || has_row(head), Status::corrupt,
            "{} is no receipt file: no line of it begins as a row does; name a .jsonl file that "
            "raceline wrote",
            path);
    }
}

}  // namespace raceline
