// SPDX-License-Identifier: Apache-2.0
// The reading half of file.hpp.
#include <nlohmann/json.hpp>

#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/stored_text.hpp"
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
    return parse_receipts(stored_text(path));
}

}  // namespace raceline
