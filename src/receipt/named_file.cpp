// SPDX-License-Identifier: Apache-2.0
#include "receipt/named_file.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "support/check.hpp"

namespace raceline {
namespace {

namespace fs = std::filesystem;

std::string head_of(const std::string& path) {
    constexpr std::size_t most = 1 << 20;
    std::string head(most, '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), static_cast<std::streamsize>(most));
    head.resize(static_cast<std::size_t>(in.gcount()));
    return head;
}

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
            (fs::path(path) / "*.jsonl").string());
    if (type == fs::file_type::regular) {
        const std::string head = head_of(path);
        require(
            head.empty() || has_row(head), Status::corrupt,
            "{} is no receipt file: no line of it begins as a row does; name a .jsonl file that "
            "raceline wrote",
            path);
    }
}

}  // namespace raceline
