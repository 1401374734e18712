// SPDX-License-Identifier: Apache-2.0
// The reading half of file.hpp.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "support/check.hpp"

namespace raceline {

ReceiptFile parse_receipts(std::string_view text) {
    ReceiptFile file;
    std::size_t begin = 0;
    for (std::size_t number = 1; begin < text.size(); ++number) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string_view::npos) {
            file.unfinished = true;
            break;
        }
        try {
            Json row = parse_json(text.substr(begin, end - begin), "the row");
            validate_row(row);
            file.rows.push_back(std::move(row));
            file.lines.push_back(number);
        } catch (const Error& e) {
            file.bad.push_back({number, e.what()});
        }
        begin = end + 1;
    }
    return file;
}

ReceiptFile read_receipts(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
    require(in != nullptr, Status::io, "{}: cannot open for reading: {}", path,
            std::generic_category().message(errno));
    std::string text;
    std::string block(1 << 16, '\0');
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), in.get())) {
        text.append(block, 0, got);
    }
    require(std::ferror(in.get()) == 0, Status::io, "{}: cannot read: {}", path,
            std::generic_category().message(errno));
    return parse_receipts(text);
}

}  // namespace raceline
